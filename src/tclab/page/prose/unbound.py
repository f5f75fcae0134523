"""The sentences of a page as its reader meets them, and the numbers typed into them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tclab.page.prose.markdown import MarkdownText

_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*\[])|\n")
#: Where the whole sentence is a link, its stop stands inside of it.
_END_IN_LINK = re.compile(r"([.!?:]\]\([^()\s]*\))\s+(?=[A-Z`*\[])")
_NOT_PROSE = ("#", "|", "<", "!!!", "???", "```", "    ")
#: Its references are looked up in the installed packages when the page is built.
_LOOKED_UP = "## Where it lives"
#: What a reader asks states nothing: below the title, or as some pages write it.
_ASKED = ("> ", "**The question:**")

#: A space within a link to claims, which may carry two sentences: they stay together.
_WITHIN = "\0"

_ITEM = re.compile(r"^(?:[-*]|\d+\.)\s+")
_BOUND = re.compile(r"\[(?:[^\[\]`]|`[^`]*`|\[\]\([^()\n]*\))*\]\(claim:[^()\s]*\)")
_CODE_OR_ADDRESS = re.compile(r"`[^`]*`|\]\([^()\n]*\)")
#: What a block calls to put a run's output on the page; `code` alone shows what was asked.
_SHOWS = re.compile(r"\b(?:snippet|show|stdout|entries|verdicts)\(")
#: Numbers that a run could have made: with a unit, or too large to be a manner of speaking.
_NUMBER = re.compile(
    r"(?<![\w.,#/])(?:\d[\d.,]*\s?(?:[nµm]?s|seconds?|minutes?|[KMGT]?i?B(?:/s)?|bytes?|%|×|times)(?!\w)"
    r"|\d{2,}(?:,\d{3})*(?![\w.]*\d))"
)
#: Words that speak of each and every case; the others often only count, or choose.
STRONG = ("every", "everything", "everywhere", "never", "always", "whatever")
_WEAK = ("only", "no", "all", "any", "none")
_UNIVERSAL = re.compile(rf"\b(?:{'|'.join((*STRONG, *_WEAK))})\b", re.IGNORECASE)
#: Names that carry a number.
_NAMED = re.compile(
    r"\b(?:PEP|CUDA|PyTorch|Python|Triton|torch) [\d.]+|\b[\d.]+ or newer|\*\*\d+\*\*"
)


@dataclass(frozen=True)
class Written:
    """One sentence as written. `shown`: its paragraph stands right before or after the output of
    a run, or the sentence takes a number from one.
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

    @property
    def universal(self) -> tuple[str, ...]:
        """Its words that speak of every case and that neither a claim nor an output carries."""
        return () if self.shown else tuple(map(str.lower, _UNIVERSAL.findall(_unbound(self.text))))


def prose(text: MarkdownText) -> Iterator[Written]:
    """Every sentence of a page that states something: outside fences, headings, tables, HTML and
    metadata, and not in *Where it lives* or in the reader's question.
    """
    beside = _beside_outputs(text)
    for number, line in _lines(text):
        if line.startswith(_ASKED):
            continue
        whole = _BOUND.sub(lambda link: link[0].replace(" ", _WITHIN), _ITEM.sub("", line))
        for part in filter(None, _END.split(_END_IN_LINK.sub(r"\1\n", whole))):
            yield Written(part.replace(_WITHIN, " "), number in beside or "](value:" in part)


def typed_numbers(text: MarkdownText) -> Iterator[tuple[int, str]]:
    """The line and the text of each number of prose that no run and no claim made."""
    for number, line in _lines(text):
        bare = _NAMED.sub(" ", _unbound(_ITEM.sub("", line)))
        yield from ((number, match[0]) for match in _NUMBER.finditer(bare))


def _unbound(text: str) -> str:
    """A text without what is bound to claims, code, and addresses."""
    return _CODE_OR_ADDRESS.sub(" ", _BOUND.sub(" ", text))


def _lines(text: MarkdownText) -> Iterator[tuple[int, str]]:
    looked_up = False
    for number, line in text.lines:
        if line.startswith("## "):
            looked_up = line.startswith(_LOOKED_UP)
        skipped = number < text.body_line or number in text.fenced or looked_up
        if not skipped and line.strip() and not line.startswith(_NOT_PROSE):
            yield number, line.strip()


def _beside_outputs(text: MarkdownText) -> set[int]:
    """Lines of the paragraphs right before and right after each output, empty lines between."""
    lines = dict(text.lines)
    outputs = [f for f in text.fences if f.executed and _SHOWS.search(f.code)]
    beside = (_paragraph(lines, at, way) for f in outputs for at, way in ((f.line, -1), (f.end, 1)))
    return {number for paragraph in beside for number in paragraph}


def _paragraph(lines: Mapping[int, str], at: int, way: int) -> Iterator[int]:
    """The lines of the paragraph next to line `at`, up (-1) or down (1), around which a <div> may
    stand. None: another fence.
    """
    at += way
    while at in lines and (not lines[at].strip() or lines[at].startswith(("<div", "</div"))):
        at += way
    while at in lines and lines[at].strip() and "```" not in lines[at]:
        yield at
        at += way
