"""Find the sentences of a page that state something, and the numbers typed into them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tclab.site.pages.prose.blocks import Block
from tclab.site.pages.prose.markdown import MarkdownText

_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*\[])|\n")
#: If a whole sentence is a link, its full stop is inside the link.
_END_IN_LINK = re.compile(r"([.!?:]\]\([^()\s]*\))\s+(?=[A-Z`*\[])")
_NOT_PROSE = ("#", "|", "<", "!!!", "???", "```", "    ")
#: The section of source references; the build looks them up in the installed packages.
_REFERENCES_HEADING = "## Where it lives"
#: The beginning of a reader's question, which states nothing.
_QUESTION = "> "

#: The replacement for spaces in a link to claims, so that its sentences are not split.
_KEPT_SPACE = "\0"

_ITEM = re.compile(r"^(?:[-*]|\d+\.)\s+")
_BOUND = re.compile(r"\[(?:[^\[\]`]|`[^`]*`|\[\]\([^()\n]*\))*\]\(claim:[^()\s]*\)")
_CODE_OR_ADDRESS = re.compile(r"`[^`]*`|\]\([^()\n]*\)")
#: Numbers that a run could have measured: with a unit, or with two or more digits.
_NUMBER = re.compile(
    r"(?<![\w.,#/])(?:\d[\d.,]*\s?(?:[nµm]?s|seconds?|minutes?|[KMGT]?i?B(?:/s)?|bytes?|%|×|times)(?!\w)"
    r"|\d{2,}(?:,\d{3})*(?![\w.]*\d))"
)
#: Words that make a statement universal. The weak words often only count or choose.
STRONG = ("every", "everything", "everywhere", "never", "always", "whatever")
_WEAK = ("only", "no", "all", "any", "none")
_UNIVERSAL = re.compile(rf"\b(?:{'|'.join((*STRONG, *_WEAK))})\b", re.IGNORECASE)
#: Names that contain a number.
_NAME_WITH_NUMBER = re.compile(
    r"\b(?:PEP|CUDA|PyTorch|Python|Triton|torch) [\d.]+|\b[\d.]+ or newer|\*\*\d+\*\*"
)


@dataclass(frozen=True)
class Statement:
    """One sentence in Markdown and its line.

    `shown` is True if the sentence's paragraph is right before or after the output of a run, or if
    the sentence takes a number from a run.
    """

    text: str
    line: int
    shown: bool = False

    @property
    def is_bound(self) -> bool:
        """Whether the sentence, or a part of it, is bound to a claim."""
        return "](claim:" in self.text

    @property
    def is_proven(self) -> bool:
        """Whether a claim or an output next to the sentence proves it."""
        return self.is_bound or self.shown

    @property
    def universal_words(self) -> tuple[str, ...]:
        """The universal words, such as "every", outside of bound text; empty if the sentence is
        `shown`.
        """
        return (
            ()
            if self.shown
            else tuple(map(str.lower, _UNIVERSAL.findall(_remove_bound_text(self.text))))
        )


def statements(text: MarkdownText, blocks: Iterable[Block]) -> Iterator[Statement]:
    """Yield the sentences of a page that state something.

    Fences, headings, tables, HTML, metadata, *Where it lives* and the reader's question are
    skipped.
    """
    next_to_outputs = _lines_next_to_outputs(text, blocks)
    for number, line in _prose_lines(text):
        if line.startswith(_QUESTION):
            continue
        unsplit = _BOUND.sub(lambda link: link[0].replace(" ", _KEPT_SPACE), _ITEM.sub("", line))
        for part in filter(None, _SENTENCE_END.split(_END_IN_LINK.sub(r"\1\n", unsplit))):
            shown = number in next_to_outputs or "](value:" in part
            yield Statement(part.replace(_KEPT_SPACE, " "), number, shown)


def typed_numbers(text: MarkdownText) -> Iterator[tuple[int, str]]:
    """Yield (line, number) for each number in the prose that comes neither from a run nor from a
    claim.
    """
    for number, line in _prose_lines(text):
        free_text = _NAME_WITH_NUMBER.sub(" ", _remove_bound_text(_ITEM.sub("", line)))
        yield from ((number, match[0]) for match in _NUMBER.finditer(free_text))


def _remove_bound_text(text: str) -> str:
    """Remove bound sentences, code and addresses from a text."""
    return _CODE_OR_ADDRESS.sub(" ", _BOUND.sub(" ", text))


def _prose_lines(text: MarkdownText) -> Iterator[tuple[int, str]]:
    looked_up = False
    for number, line in text.lines:
        if line.startswith("## "):
            looked_up = line.startswith(_REFERENCES_HEADING)
        skipped = number < text.body_line or number in text.fenced_lines or looked_up
        if not skipped and line.strip() and not line.startswith(_NOT_PROSE):
            yield number, line.strip()


def _lines_next_to_outputs(text: MarkdownText, blocks: Iterable[Block]) -> set[int]:
    """Return the lines of the paragraphs right before and right after each output."""
    lines = dict(text.lines)
    outputs = [b for b in blocks if any(call.kind.is_evidence for call in b.calls)]
    paragraphs = (
        _paragraph_next_to(lines, line, direction)
        for b in outputs
        for line, direction in ((b.line, -1), (b.end, 1))
    )
    return {number for paragraph in paragraphs for number in paragraph}


def _paragraph_next_to(lines: Mapping[int, str], number: int, direction: int) -> Iterator[int]:
    """Yield the lines of the paragraph above (`direction` -1) or below (1) line `number`.

    Empty lines and <div> tags in between are skipped. If a fence comes first, yield nothing.
    """
    number += direction
    while number in lines and (
        not lines[number].strip() or lines[number].startswith(("<div", "</div"))
    ):
        number += direction
    while number in lines and lines[number].strip() and "```" not in lines[number]:
        yield number
        number += direction
