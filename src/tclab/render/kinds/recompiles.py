"""Render recompiles: the code that was compiled again, and the guards that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, parts
from tclab.render.escape import Html, clean, join, markup
from tclab.render.options import Options, place_link

if TYPE_CHECKING:
    from tclab.model import Recompiles


def summary(recompiles: Recompiles) -> str:
    """Count the recompiles in a sentence."""
    number = len(recompiles)
    return f"{parts.count(number, 'recompile')}." if number else "No recompiles."


def html(artifact: Recompiles, options: Options) -> Html:
    """Return a table with a row for each recompile."""
    intro = parts.note(summary(artifact))
    if not artifact.recompiles:
        return intro
    rows = [
        (
            parts.code(r.compile_id),
            parts.code(r.function),
            join(map(parts.code, r.reasons), markup("<br>")) or parts.DASH,
            place_link(r.location, options),
        )
        for r in artifact
    ]
    head = ("Compile", "Function", "Guard that failed", "Code")
    return join([intro, parts.table(head, rows, label=f"Recompiles {artifact.title}")])


def text(artifact: Recompiles) -> str:
    """Return a table with a row for each recompile."""
    head = columns.heading(artifact.title, summary(artifact))
    if not artifact.recompiles:
        return head
    rows = [
        (
            r.compile_id,
            r.function,
            "\n".join(map(clean, r.reasons)) or "–",
            columns.place_text(r.location),
        )
        for r in artifact
    ]
    names = ("compile", "function", "guard that failed", "code")
    return columns.join(head, columns.table(names, rows))
