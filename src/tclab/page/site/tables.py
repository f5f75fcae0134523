"""Tables of prose on a phone: a row becomes a block, each cell below the name of its column.

A table of three columns or more has no room on a phone: it would be cut at the window's edge, or
break names in their middle. Style sheets turn its rows into blocks; what a cell is about is written
on it.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

#: Two columns fit.
_FEWEST = 3


class _Named(Treeprocessor):
    """Marks tables of many columns, and writes its heading on each cell."""

    def run(self, root: Element) -> None:
        for table in root.iter("table"):
            heads = ["".join(cell.itertext()).strip() for cell in table.iter("th")]
            if len(heads) >= _FEWEST:
                table.set("class", "tclab-prose")
                for row in table.iterfind("tbody/tr"):
                    _name(row, heads)


def _name(row: Element, heads: list[str]) -> None:
    for cell, head in zip(row, heads, strict=True):
        cell.set("data-head", head)


class Tables(Extension):
    """The extension for Markdown."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Comes after the text of cells has become elements."""
        md.treeprocessors.register(_Named(md), "tclab-tables", 5)
