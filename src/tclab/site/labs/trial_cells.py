"""Find the trial cells of an answer, which are tagged ``try`` or ``setup``. A check skips them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tclab.site.labs.source import Cell, cells

_TRIAL_TAGS = {"try", "setup"}


def blank_trial_cells(text: str) -> str:
    """Return the text with empty lines in place of its trial cells, so that line numbers do not
    change.
    """
    blank = {n for cell in _trial_cells(text) for n in _line_numbers(cell)}
    return "\n".join("" if n in blank else line for n, line in enumerate(text.split("\n"), 1))


def line_of_definition(name: str, text: str) -> int:
    """Return the line on which a trial cell defines `name`; 0 if no trial cell does."""
    definition = re.compile(rf"(def|class) {re.escape(name)}\b")
    lines = text.split("\n")
    numbers = (n for cell in _trial_cells(text) for n in _line_numbers(cell) if n <= len(lines))
    return next((n for n in numbers if definition.match(lines[n - 1])), 0)


def _trial_cells(text: str) -> Iterator[Cell]:
    return (cell for cell in cells(text) if _TRIAL_TAGS & set(cell.tags))


def _line_numbers(cell: Cell) -> range:
    return range(cell.line + 1, cell.line + 2 + cell.text.count("\n"))
