"""Split Markdown text into lines, with its metadata, fences and headings."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from tclab.site.pages.prose import fences
from tclab.site.pages.prose.fences import Fence

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_HEADING = re.compile(r"^(#+) +(.*)$")


@dataclass(frozen=True)
class Heading:
    """A heading outside of fences. `level` is 1 for the page's title; `words` are the heading's
    Markdown.
    """

    line: int
    level: int
    words: str


@dataclass(frozen=True)
class MarkdownText:
    """The text of a page or of a lab's cell. All line numbers are those of the file, from 1.

    `page` is the file's name in errors, and `first_line` is the line on which the text begins.
    """

    page: str
    text: str
    first_line: int = 1

    def place(self, offset: int) -> str:
        """Return ``page:line`` of an offset in the text."""
        return f"{self.page}:{self.find_line(offset)}"

    def find_line(self, offset: int) -> int:
        return self.first_line + bisect_right(self._line_ends, offset - 1)

    @cached_property
    def _line_ends(self) -> tuple[int, ...]:
        """The offsets of the text's line ends."""
        return tuple(match.start() for match in re.finditer("\n", self.text))

    @cached_property
    def lines(self) -> tuple[tuple[int, str], ...]:
        """Each line with its number."""
        return tuple(enumerate(self.text.split("\n"), self.first_line))

    @cached_property
    def body_line(self) -> int:
        """The first line below the metadata."""
        metadata = _FRONT_MATTER.match(self.text)
        return self.find_line(metadata.end()) if metadata else self.first_line

    @cached_property
    def fences(self) -> tuple[Fence, ...]:
        """The outermost fences, in order. Raises PageError for a fence that cannot be read."""
        return tuple(fences.find_fences(self.text, self.page, self.first_line))

    @cached_property
    def fenced_lines(self) -> frozenset[int]:
        """The numbers of all lines in fences, with their opening and closing lines."""
        return frozenset(n for fence in self.fences for n in range(fence.line, fence.end + 1))

    @cached_property
    def headings(self) -> tuple[Heading, ...]:
        """The headings, in order."""
        matches = (
            (n, _HEADING.match(line)) for n, line in self.lines if n not in self.fenced_lines
        )
        return tuple(Heading(n, len(m[1]), m[2].rstrip(" ")) for n, m in matches if m)
