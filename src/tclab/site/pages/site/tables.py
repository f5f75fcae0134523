"""Make tables in prose readable on a phone: a row becomes a block of labelled cells.

A table with three or more columns is too wide for a phone, where it would be cut off, or break
names in the middle. A style sheet turns its rows into blocks, and reads each cell's label from its
``data-head``.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

#: A table with fewer columns fits on a phone.
_FEWEST_COLUMNS = 3


class _HeadingWriter(Treeprocessor):
    """Marks tables with many columns, and writes the heading of its column on each cell."""

    def run(self, root: Element) -> None:
        for table in root.iter("table"):
            heads = ["".join(cell.itertext()).strip() for cell in table.iter("th")]
            if len(heads) >= _FEWEST_COLUMNS:
                table.set("class", "tclab-prose")
                for row in table.iterfind("tbody/tr"):
                    _write_headings(row, heads)


def _write_headings(row: Element, heads: list[str]) -> None:
    for cell, head in zip(row, heads, strict=True):
        cell.set("data-head", head)


class PhoneTables(Extension):
    """The Markdown extension that makes tables readable on a phone."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Register the processor to run after the cells' text has become elements."""
        md.treeprocessors.register(_HeadingWriter(md), "tclab-tables", 5)
