"""The cells of an answer that only try things out: a check leaves them out, and says so."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tclab.labs.source import Cell, cells

_LEFT_OUT = {"try", "setup"}


def blanked(text: str) -> str:
    """The text with those cells blanked; its lines keep their numbers."""
    blank = {n for cell in _left_out(text) for n in _lines(cell)}
    return "\n".join("" if n in blank else line for n, line in enumerate(text.split("\n"), 1))


def line_of(name: str, text: str) -> int:
    """The line where such a cell defines `name`; 0 where none does."""
    definition = re.compile(rf"(def|class) {re.escape(name)}\b")
    lines = text.split("\n")
    numbers = (n for cell in _left_out(text) for n in _lines(cell) if n <= len(lines))
    return next((n for n in numbers if definition.match(lines[n - 1])), 0)


def _left_out(text: str) -> Iterator[Cell]:
    return (cell for cell in cells(text) if _LEFT_OUT & set(cell.tags))


def _lines(cell: Cell) -> range:
    return range(cell.line + 1, cell.line + 2 + cell.text.count("\n"))
