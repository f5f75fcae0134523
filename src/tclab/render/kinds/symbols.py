"""Symbols: sizes that a compile kept symbolic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, parts
from tclab.render.escape import Html
from tclab.render.options import Options, place

if TYPE_CHECKING:
    from tclab.model import Symbol, Symbols

HEAD = ("Symbol", "Example", "Stands for", "Range", "Code")


def html(artifact: Symbols, options: Options) -> Html:
    """A row for each symbol."""
    if not artifact.symbols:
        return parts.note("No symbols: every size is a constant.")
    rows = [cells(symbol, options) for symbol in artifact]
    return parts.table(HEAD, rows, label=f"Symbols {artifact.title}")


def cells(symbol: Symbol, options: Options) -> tuple[Html, ...]:
    """What is known of one, as HEAD names it."""
    known = (symbol.name, symbol.value, symbol.source, symbol.bounds)
    return (*map(parts.code, known), place(symbol.location, options))


def text(artifact: Symbols) -> str:
    """The same, for a terminal."""
    if not artifact.symbols:
        return columns.heading(artifact.title, "No symbols: every size is a constant.")
    rows = [
        (s.name, s.value, s.source, s.bounds or "–", columns.place(s.location)) for s in artifact
    ]
    head = ("symbol", "example", "stands for", "range", "code")
    return columns.join(columns.heading(artifact.title), columns.table(head, rows))
