"""Recompiles: which guard failed, and so which code was compiled once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, parts
from tclab.render.escape import Html, clean, join, markup
from tclab.render.options import Options, place

if TYPE_CHECKING:
    from tclab.model import Recompiles


def summary(recompiles: Recompiles) -> str:
    """How many there were."""
    number = len(recompiles)
    return f"{parts.count(number, 'recompile')}." if number else "No recompiles."


def html(artifact: Recompiles, options: Options) -> Html:
    """A row for each recompile."""
    count = parts.note(summary(artifact))
    if not artifact.recompiles:
        return count
    rows = [
        (
            parts.code(r.compile_id),
            parts.code(r.function),
            join(map(parts.code, r.reasons), markup("<br>")) or parts.DASH,
            place(r.location, options),
        )
        for r in artifact
    ]
    head = ("Compile", "Function", "Guard that failed", "Code")
    return join([count, parts.table(head, rows, label=f"Recompiles {artifact.title}")])


def text(artifact: Recompiles) -> str:
    """The same, for a terminal."""
    head = columns.heading(artifact.title, summary(artifact))
    if not artifact.recompiles:
        return head
    rows = [
        (
            r.compile_id,
            r.function,
            "\n".join(map(clean, r.reasons)) or "–",
            columns.place(r.location),
        )
        for r in artifact
    ]
    names = ("compile", "function", "guard that failed", "code")
    return columns.join(head, columns.table(names, rows))
