"""Read the Markdown links that bind sentences to claims and take numbers from runs.

    [The graph is compiled at the first call.](claim:dynamo/nothing_happens#one-graph)
    It took [](value:benchmarks/softmax#timings/compiled/median).

A binding names a snippet and its claim; commas separate several. A value names a snippet, a table
that the snippet shows, a row by its first cell (or ``#4`` for the fourth row), and a column. It
means the snippet's first run, or with ``@environment`` the run in this environment.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from tclab.errors import PageError
from tclab.site.pages.prose.markdown import MarkdownText

_PARAGRAPH = re.compile(r"\n(?=\n)")  # the end of a paragraph
#: The end of a sentence, of a sentence in a link, or of a line that ends a paragraph, an item or a
#: row.
_SENTENCE_END = re.compile(r"[.!?](?:\]\([^()\s]*\))?\s+(?=[A-Z`*\[])|\n")
_CLAIMS = re.compile(r"\]\(claim:(?P<refs>[^()]*)\)")
_REF = re.compile(r"(?P<snippet>[a-z0-9_]+/[a-z0-9_]+)#(?P<claim>[a-z0-9-]+)")
_VALUE = re.compile(r"\[\]\(value:(?P<ref>[^()]*)\)")
_VALUE_REF = re.compile(
    r"(?P<snippet>[a-z0-9_]+/[a-z0-9_]+)(?:@(?P<environment>[\w.-]+))?"
    r"#(?P<artifact>[\w-]+)/(?P<row>[^/()\n]+)/(?P<column>[^/()\n]+)"
)


@dataclass(frozen=True)
class Sentence:
    """A sentence of a page that is bound to claims; each claim is (snippet, name).

    `start` and `end` are the offsets of the whole link in the page's text; `line` is the line of
    its start.
    """

    page: str
    line: int
    text: str
    claims: tuple[tuple[str, str], ...]
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Value:
    """A number that a page takes from a run. `start` and `end` have the same meaning as in
    `Sentence`.
    """

    page: str
    line: int
    snippet: str
    environment: str
    artifact: str
    row: str
    column: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def bound_sentences(text: MarkdownText) -> Iterator[Sentence]:
    """Yield the bound sentences of a text in order. Raises PageError for a malformed binding."""
    paragraphs = [0, *(end.end() for end in _PARAGRAPH.finditer(text.text))]
    for match in _matches_outside_fences(_CLAIMS, text):
        first = paragraphs[bisect_right(paragraphs, match.start()) - 1]
        start, place = (
            _find_opening_bracket(text.text, first, match.start()),
            text.place(match.start()),
        )
        words = text.text[start + 1 : match.start()]
        if start < 0 or not words.strip():
            raise PageError(place, "this binding has no sentence", "write [The sentence.](claim:…)")
        _refuse_image(text, start, place)
        claims = _parse_claims(match["refs"], place)
        yield Sentence(text.page, text.find_line(start), words, claims, start, match.end())


def whole_sentence(text: MarkdownText, sentence: Sentence) -> str:
    """Return the bound text with the rest of its sentence."""
    ends = [end.end() for end in _SENTENCE_END.finditer(text.text)]
    first = bisect_right(ends, sentence.start)
    last = bisect_left(ends, sentence.end)
    start = ends[first - 1] if first else 0
    return text.text[start : ends[last] if last < len(ends) else None]


def values_in(text: MarkdownText) -> Iterator[Value]:
    """Yield the numbers that a text takes from runs. Raises PageError for a malformed value."""
    for match in _matches_outside_fences(_VALUE, text):
        ref = _VALUE_REF.fullmatch(match["ref"])
        if ref is None:
            step = "write it as: [](value:topic/snippet#table/row/column)"
            cause = f"cannot read the value {match['ref']!r}"
            raise PageError(text.place(match.start()), cause, step)
        _refuse_image(text, match.start(), text.place(match.start()))
        parts = (ref["snippet"], ref["environment"] or "", ref["artifact"], ref["row"])
        line = text.find_line(match.start())
        yield Value(text.page, line, *parts, ref["column"], match.start(), match.end())


def _refuse_image(text: MarkdownText, start: int, place: str) -> None:
    """Raise PageError if the binding that begins at `start` is written as an image: ``![…](…)``."""
    if re.search(r"(?<!\\)!$", text.text[:start][-2:]):
        step = "leave out the ! before the ["
        raise PageError(place, "this binding is written as an image", step)


def _matches_outside_fences(
    pattern: re.Pattern[str], text: MarkdownText
) -> Iterator[re.Match[str]]:
    for match in pattern.finditer(text.text):
        if text.find_line(match.start()) not in text.fenced_lines:
            yield match


def _parse_claims(refs: str, place: str) -> tuple[tuple[str, str], ...]:
    matches = [_REF.fullmatch(ref) for ref in refs.split(",")]
    if not all(matches):
        step = "write it as: [The sentence.](claim:topic/snippet#claim-name)"
        raise PageError(place, f"cannot read the binding {refs!r}", step)
    return tuple((match["snippet"], match["claim"]) for match in matches if match)


def _find_opening_bracket(text: str, first: int, closing: int) -> int:
    """Return the offset of the ``[`` that matches the ``]`` at `closing`; -1 if there is none after
    `first`.
    """
    depth, offset = 1, closing
    while offset > first:
        offset -= 1
        if text[offset] == "`":  # skip brackets inside code
            offset = max(text.rfind("`", first, offset), first)
        depth += (text[offset] == "]") - (text[offset] == "[")
        if depth == 0:
            return offset
    return -1
