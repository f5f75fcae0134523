"""Guards: what a cache entry checks before its compiled code may run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tclab.render import columns, highlight, parts
from tclab.render.escape import NOTHING, Html, clean, join, markup
from tclab.render.options import Options, place

if TYPE_CHECKING:
    from tclab.model import Guard, Guards


def _sorted(guards: Guards) -> list[Guard]:
    return sorted(guards, key=lambda g: (g.type, g.source, g.checks))


def counts(guards: Guards) -> list[tuple[str, int]]:
    """How many guards of each kind, most first."""
    return sorted(Counter(g.type for g in guards).items(), key=lambda kn: (-kn[1], kn[0]))


def summary(guards: Guards) -> str:
    """How many guards, of which function's which compile."""
    where = f" of {guards.function}" if guards.function else ""
    which = f", compile {guards.compile_id}" if guards.compile_id else ""
    return f"{parts.count(len(guards), 'guard')}{where}{which}"


def _table(guards: Guards, options: Options) -> Html:
    rows = [
        (
            parts.code(g.type),
            parts.code(g.source),
            join(map(parts.code, g.checks), markup("<br>")) or parts.DASH,
            place(g.location, options),
        )
        for g in _sorted(guards)
    ]
    head = ("Kind", "Source", "Check", "Because of")
    table = options.delivery.guards(parts.grid(head, rows))
    return parts.scroll(table, f"Guards {guards.title}", search=False)


def _tree(guards: Guards, options: Options) -> Html:
    if not guards.tree.strip():
        return NOTHING
    body = highlight.block(guards.tree, "text", options, anchors=False, label="Guard tree")
    return parts.fold(f"Guard tree, {parts.count(parts.line_count(guards.tree), 'line')}", body)


def html(artifact: Guards, options: Options) -> Html:
    """Counts, table, tree."""
    if not artifact.guards:
        return join([parts.note("No guards."), _tree(artifact, options)])
    count = parts.note(summary(artifact))
    body = _table(artifact, options)
    body = parts.folded_rows(body, len(artifact), options, "guard")
    return join([count, parts.chips(counts(artifact)), body, _tree(artifact, options)])


def text(artifact: Guards) -> str:
    """Counts and table."""
    head = columns.heading(artifact.title, summary(artifact))
    if not artifact.guards:
        return head
    kinds = columns.paragraph(", ".join(f"{n} {kind}" for kind, n in counts(artifact)), "  ")
    rows = [
        (g.type, g.source, "\n".join(clean(c) for c in g.checks) or "–", columns.place(g.location))
        for g in _sorted(artifact)
    ]
    return columns.join(head, kinds, columns.table(("kind", "source", "check", "because of"), rows))
