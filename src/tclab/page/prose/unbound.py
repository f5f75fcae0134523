"""The sentences of a page as its reader meets them, and the numbers typed into them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tclab.page.prose import fences

_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*\[])|\n")
#: Where the whole sentence is a link, its stop stands inside of it.
_END_IN_LINK = re.compile(r"([.!?:]\]\([^()\s]*\))\s+(?=[A-Z`*\[])")
_NOT_PROSE = ("#", "|", "<", "!!!", "???", "```", "    ")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
#: Its references are looked up in the installed packages when the page is built.
_LOOKED_UP = "## Where it lives"
#: What a reader asks states nothing.
_ASKED = "**The question:**"

_ITEM = re.compile(r"^(?:[-*]|\d+\.)\s+")
_BOUND = re.compile(r"\[[^\[\]]*\]\(claim:[^()\s]*\)")
_CODE_OR_ADDRESS = re.compile(r"`[^`]*`|\]\([^()\n]*\)")
#: What a block calls to put a run's output on the page; `code` alone shows what was asked.
_SHOWS = re.compile(r"\b(?:snippet|show|stdout|entries|verdicts)\(")
#: Numbers that a run could have made: with a unit, or too large to be a manner of speaking.
_NUMBER = re.compile(
    r"(?<![\w.,#/])(?:\d[\d.,]*\s?(?:[nµm]?s|seconds?|minutes?|[KMGT]?i?B(?:/s)?|bytes?|%|×|times)(?!\w)"
    r"|\d{2,}(?:,\d{3})*(?![\w.]*\d))"
)
#: Names that carry a number.
_NAMED = re.compile(
    r"\b(?:PEP|CUDA|PyTorch|Python|Triton|torch) [\d.]+|\b[\d.]+ or newer|\*\*\d+\*\*"
)


@dataclass(frozen=True)
class Told:
    """One sentence as written. `shown`: its paragraph stands directly on the output of a run, or
    it holds a number that is inserted from one.
    """

    text: str
    shown: bool = False

    @property
    def bound(self) -> bool:
        """Whether a claim carries it, or a part of it."""
        return "](claim:" in self.text

    @property
    def proven(self) -> bool:
        """Whether its reader has an assert or an output right there."""
        return self.bound or self.shown


def told(text: str, page: str) -> Iterator[Told]:
    """Every sentence of a page outside fences, headings, tables, HTML and metadata; of
    *Where it lives* and of the reader's question none.
    """
    shown = _beside_outputs(text, page)
    for number, line in _lines(text, page):
        if line.startswith(_ASKED):
            continue
        parted = _END_IN_LINK.sub(r"\1\n", _ITEM.sub("", line))
        for part in filter(None, _END.split(parted)):
            yield Told(part, number in shown or "](value:" in part)


def prose(text: str, page: str) -> Iterator[str]:
    """The sentences of `told`, as written."""
    yield from (sentence.text for sentence in told(text, page))


def typed_numbers(text: str, page: str) -> Iterator[tuple[int, str]]:
    """The line (from 1) and the text of each number of prose that no run and no claim made."""
    for number, line in _lines(text, page):
        bare = _ITEM.sub("", line)
        for pattern in (_BOUND, _CODE_OR_ADDRESS, _NAMED):
            bare = pattern.sub(" ", bare)
        yield from ((number, match[0]) for match in _NUMBER.finditer(bare))


def _lines(text: str, page: str) -> Iterator[tuple[int, str]]:
    fenced = {n for f in fences.find(text, page) for n in range(f.line, f.end + 1)}
    metadata = _FRONT_MATTER.match(text)
    first = metadata[0].count("\n") + 1 if metadata else 1
    looked_up = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("## "):
            looked_up = line.startswith(_LOOKED_UP)
        skipped = number < first or number in fenced or looked_up
        if not skipped and line.strip() and not line.startswith(_NOT_PROSE):
            yield number, line.strip()


def _beside_outputs(text: str, page: str) -> set[int]:
    """Lines of the paragraphs right before and right after each output, empty lines between."""
    lines = ["", *text.split("\n"), ""]
    outputs = [f for f in fences.find(text, page) if f.executed and _SHOWS.search(f.code)]
    beside = (_paragraph(lines, at, way) for f in outputs for at, way in ((f.line, -1), (f.end, 1)))
    return {number for paragraph in beside for number in paragraph}


def _paragraph(lines: list[str], at: int, way: int) -> Iterator[int]:
    """The lines of the paragraph next to line `at`, up (-1) or down (1). None: another fence."""
    at += way
    while 0 < at < len(lines) - 1 and not lines[at].strip():
        at += way
    while 0 < at < len(lines) - 1 and lines[at].strip() and "```" not in lines[at]:
        yield at
        at += way
