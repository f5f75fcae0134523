"""Sentences bound to claims, and numbers taken from runs, as Markdown links of their own.

    [The graph is compiled at the first call.](claim:dynamo/nothing_happens#one-graph)
    It took [](value:benchmarks/softmax#timings/compiled/median).

A binding names the snippet and its claim, or several, with commas. A value names the snippet (with
``@environment`` where it is not the first run shown), a table it shows, the row by its first
cell and the column by its name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from tclab.errors import PageError
from tclab.page.prose.markdown import MarkdownText

_PARAGRAPH = re.compile(r"\n(?=\n)")  # its end
_CLAIMS = re.compile(r"\]\(claim:(?P<refs>[^()]*)\)")
_REF = re.compile(r"(?P<snippet>[a-z0-9_]+/[a-z0-9_]+)#(?P<claim>[a-z0-9-]+)")
_VALUE = re.compile(r"\[\]\(value:(?P<ref>[^()]*)\)")
_VALUE_REF = re.compile(
    r"(?P<snippet>[a-z0-9_]+/[a-z0-9_]+)(?:@(?P<environment>[\w.-]+))?"
    r"#(?P<artifact>[\w-]+)/(?P<row>[^/()\n]+)/(?P<column>[^/()\n]+)"
)


@dataclass(frozen=True)
class Sentence:
    """What a page says on the word of one or more claims: (snippet, name) each.

    `start` and `end` are offsets of the whole link in the page's text, `line` that of its start.
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
    """A number that a page takes from a run; the offsets as a sentence has them."""

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


def bound(text: MarkdownText) -> Iterator[Sentence]:
    """The bound sentences of a text, in order. PageError for one that cannot be read."""
    paragraphs = [0, *(end.end() for end in _PARAGRAPH.finditer(text.text))]
    for match in _outside_fences(_CLAIMS, text):
        first = paragraphs[bisect_right(paragraphs, match.start()) - 1]
        start, place = _opening(text.text, first, match.start()), text.place(match.start())
        if start < 0:
            raise PageError(place, "this binding has no sentence", "write [The sentence.](claim:…)")
        words = text.text[start + 1 : match.start()]
        claims = _claims(match["refs"], place)
        yield Sentence(text.page, text.line_of(start), words, claims, start, match.end())


def values(text: MarkdownText) -> Iterator[Value]:
    """The numbers that a text takes from runs. PageError for one that cannot be read."""
    for match in _outside_fences(_VALUE, text):
        ref = _VALUE_REF.fullmatch(match["ref"])
        if ref is None:
            step = "write it as: [](value:topic/snippet#table/row/column)"
            cause = f"cannot read the value {match['ref']!r}"
            raise PageError(text.place(match.start()), cause, step)
        parts = (ref["snippet"], ref["environment"] or "", ref["artifact"], ref["row"])
        line = text.line_of(match.start())
        yield Value(text.page, line, *parts, ref["column"], match.start(), match.end())


def _outside_fences(pattern: re.Pattern[str], text: MarkdownText) -> Iterator[re.Match[str]]:
    for match in pattern.finditer(text.text):
        if text.line_of(match.start()) not in text.fenced:
            yield match


def _claims(refs: str, place: str) -> tuple[tuple[str, str], ...]:
    matches = [_REF.fullmatch(ref) for ref in refs.split(",")]
    if not all(matches):
        step = "write it as: [The sentence.](claim:topic/snippet#claim-name)"
        raise PageError(place, f"cannot read the binding {refs!r}", step)
    return tuple((match["snippet"], match["claim"]) for match in matches if match)


def _opening(text: str, first: int, closing: int) -> int:
    """Where the bracket opens that closes at `closing`, from `first` on; -1 if nowhere."""
    depth, at = 1, closing
    while at > first:
        at -= 1
        if text[at] == "`":  # brackets within code are code
            at = max(text.rfind("`", first, at), first)
        depth += (text[at] == "]") - (text[at] == "[")
        if depth == 0:
            return at
    return -1
