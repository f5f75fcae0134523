"""Sentences bound to claims, and numbers taken from runs, as Markdown links of their own.

    [The graph is compiled at the first call.](claim:dynamo/nothing_happens#one-graph)
    It took [](value:benchmarks/softmax#timings/compiled/median).

A binding names the snippet and its claim, or several, with commas. A value names the snippet (with
``@environment`` where it is not the first run shown), a table it shows, the row by its first
cell and the column by its name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tclab.errors import PageError
from tclab.labs import source as labs
from tclab.page.prose import fences

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


def in_folder(docs: Path, root: Path) -> list[Sentence]:
    """The bound sentences of every page under `docs`, Markdown or lab, page by page."""
    return [
        sentence
        for path in sorted([*docs.rglob("*.md"), *docs.glob("labs/lab*.py")])
        for sentence in on_page(path, path.relative_to(root).as_posix())
    ]


def on_page(path: Path, page: str) -> list[Sentence]:
    """The bound sentences of one page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return sentences(text, page)
    prose = (cell for cell in labs.cells(text) if cell.kind == "markdown")
    return [s for cell in prose for s in sentences(cell.text, page, cell.line + 1)]


def sentences(text: str, page: str, first_line: int = 1) -> list[Sentence]:
    """The bound sentences of a page's text, in order. PageError for one that cannot be read."""
    code = _fenced(text, page)
    bound = []
    for match in _CLAIMS.finditer(text):
        if any(first <= match.start() < last for first, last in code):
            continue
        start = _opening(text, match.start())
        place = f"{page}:{first_line + text.count(chr(10), 0, match.start())}"
        if start < 0:
            raise PageError(place, "this binding has no sentence", "write [The sentence.](claim:…)")
        line = first_line + text.count("\n", 0, start)
        claims = _claims(match["refs"], place)
        sentence = text[start + 1 : match.start()]
        bound.append(Sentence(page, line, sentence, claims, start, match.end()))
    return bound


def values(text: str, page: str, first_line: int = 1) -> list[Value]:
    """The numbers that a page's text takes from runs. PageError for one that cannot be read."""
    code = _fenced(text, page)
    taken = []
    for match in _VALUE.finditer(text):
        if any(first <= match.start() < last for first, last in code):
            continue
        line = first_line + text.count("\n", 0, match.start())
        ref = _VALUE_REF.fullmatch(match["ref"])
        if ref is None:
            step = "write it as: [](value:topic/snippet#table/row/column)"
            raise PageError(f"{page}:{line}", f"cannot read the value {match['ref']!r}", step)
        parts = (ref["snippet"], ref["environment"] or "", ref["artifact"], ref["row"])
        taken.append(Value(page, line, *parts, ref["column"], match.start(), match.end()))
    return taken


def _claims(refs: str, place: str) -> tuple[tuple[str, str], ...]:
    matches = [_REF.fullmatch(ref) for ref in refs.split(",")]
    if not all(matches):
        step = "write it as: [The sentence.](claim:topic/snippet#claim-name)"
        raise PageError(place, f"cannot read the binding {refs!r}", step)
    return tuple((match["snippet"], match["claim"]) for match in matches if match)


def _opening(text: str, closing: int) -> int:
    """Where the bracket opens that closes at `closing`, within the paragraph; -1 if nowhere."""
    depth, at = 1, closing
    first = text.rfind("\n\n", 0, closing) + 1
    while at > first:
        at -= 1
        if text[at] == "`":  # brackets within code are code
            at = max(text.rfind("`", first, at), first)
        depth += (text[at] == "]") - (text[at] == "[")
        if depth == 0:
            return at
    return -1


def _fenced(text: str, page: str) -> list[tuple[int, int]]:
    """Offsets of the fenced blocks."""
    starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
    return [(starts[f.line - 1], starts[f.end]) for f in fences.find(text, page)]
