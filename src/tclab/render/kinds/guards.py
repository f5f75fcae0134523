"""Render guards: the checks of a cache entry before its compiled code may run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tclab.render import columns, highlight, parts
from tclab.render.escape import NOTHING, Html, clean, join, markup
from tclab.render.options import Options, place_link

if TYPE_CHECKING:
    from tclab.model import Guard, Guards


def _sort_guards(guards: Guards) -> list[Guard]:
    return sorted(guards, key=lambda g: (g.type, g.source, g.checks))


def count_types(guards: Guards) -> list[tuple[str, int]]:
    """Return (type of guard, count), the most frequent type first."""
    return sorted(Counter(g.type for g in guards).items(), key=lambda kn: (-kn[1], kn[0]))


def summary(guards: Guards) -> str:
    """Count the guards and name their function and compile."""
    function = f" of {guards.function}" if guards.function else ""
    compile_id = f", compile {guards.compile_id}" if guards.compile_id else ""
    return f"{parts.count(len(guards), 'guard')}{function}{compile_id}"


def _draw_table(guards: Guards, options: Options) -> Html:
    rows = [
        (
            parts.code(g.type),
            parts.code(g.source),
            join(map(parts.code, g.checks), markup("<br>")) or parts.DASH,
            place_link(g.location, options),
        )
        for g in _sort_guards(guards)
    ]
    head = ("Kind", "Source", "Check", "Because of")
    table = options.delivery.deliver_guards(parts.bare_table(head, rows))
    return parts.scroll_box(table, f"Guards {guards.title}", search=False)


def _draw_tree(guards: Guards, options: Options) -> Html:
    if not guards.tree.strip():
        return NOTHING
    body = highlight.block(guards.tree, "text", options, anchors=False, label="Guard tree")
    return parts.fold(f"Guard tree, {parts.count(parts.line_count(guards.tree), 'line')}", body)


def html(artifact: Guards, options: Options) -> Html:
    """Return the counts, the table of guards, and the guard tree in a fold."""
    if not artifact.guards:
        return join([parts.note("No guards."), _draw_tree(artifact, options)])
    intro = parts.note(summary(artifact))
    body = _draw_table(artifact, options)
    body = parts.fold_rows_if_long(body, len(artifact), options, "guard")
    return join([intro, parts.chips(count_types(artifact)), body, _draw_tree(artifact, options)])


def text(artifact: Guards) -> str:
    """Return the counts and the table of guards."""
    head = columns.heading(artifact.title, summary(artifact))
    if not artifact.guards:
        return head
    kinds = columns.paragraph(", ".join(f"{n} {kind}" for kind, n in count_types(artifact)), "  ")
    rows = [
        (
            g.type,
            g.source,
            "\n".join(clean(c) for c in g.checks) or "–",
            columns.place_text(g.location),
        )
        for g in _sort_guards(artifact)
    ]
    return columns.join(head, kinds, columns.table(("kind", "source", "check", "because of"), rows))
