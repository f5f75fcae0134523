"""Render symbols: the sizes that a compile kept symbolic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, parts
from tclab.render.escape import Html
from tclab.render.options import Options, place_link

if TYPE_CHECKING:
    from tclab.model import Symbol, Symbols

COLUMN_NAMES = ("Symbol", "Example", "Stands for", "Range", "Code")


def html(artifact: Symbols, options: Options) -> Html:
    """Return a table with a row for each symbol."""
    if not artifact.symbols:
        return parts.note("No symbols: every size is a constant.")
    rows = [symbol_cells(symbol, options) for symbol in artifact]
    return parts.table(COLUMN_NAMES, rows, label=f"Symbols {artifact.title}")


def symbol_cells(symbol: Symbol, options: Options) -> tuple[Html, ...]:
    """Return the cells of one symbol, for the columns of COLUMN_NAMES."""
    known = (symbol.name, symbol.value, symbol.source, symbol.bounds)
    return (*map(parts.code, known), place_link(symbol.location, options))


def text(artifact: Symbols) -> str:
    """Return a table with a row for each symbol."""
    if not artifact.symbols:
        return columns.heading(artifact.title, "No symbols: every size is a constant.")
    rows = [
        (s.name, s.value, s.source, s.bounds or "–", columns.place_text(s.location))
        for s in artifact
    ]
    head = ("symbol", "example", "stands for", "range", "code")
    return columns.join(columns.heading(artifact.title), columns.table(head, rows))
