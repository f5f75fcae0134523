"""FX graphs in three views: a picture, a table and the readable code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.errors import TclabError
from tclab.render import columns, highlight, layout, parts, picture
from tclab.render.escape import Html, esc, join
from tclab.render.options import Options, place

if TYPE_CHECKING:
    from tclab.model import Graph, Node

#: Larger graphs open as a table, their picture folded; beyond MOST_DRAWN none is drawn.
MOST_SHOWN, MOST_DRAWN = 120, 400

VIEWS = ("picture", "table", "text")


def summary(graph: Graph) -> str:
    """How large it is."""
    return f"{parts.count(len(graph.nodes), 'node')}, {parts.count(len(graph), 'operation')}"


def _picture(graph: Graph, options: Options) -> Html:
    if not graph.nodes:
        return parts.note("An empty graph.")
    if len(graph.nodes) > MOST_DRAWN:
        many = f"{len(graph.nodes):,} nodes are too many to draw; the table lists them."
        return parts.note(many)
    drawn = parts.scroll(
        picture.svg(graph, options), graph.title or "FX graph", search=False, class_="tclab-canvas"
    )
    drawn = join([picture.legend(graph), drawn])
    if len(graph.nodes) > MOST_SHOWN:
        return parts.fold(f"Picture of {len(graph.nodes):,} nodes", drawn)
    return drawn


def _row(node: Node, options: Options) -> tuple[Html, ...]:
    shape = parts.DASH if node.shape is None else parts.code(f"[{', '.join(node.shape)}]")
    return (
        parts.code(node.name),
        esc(node.op),
        parts.code(node.target),
        shape,
        parts.code(node.dtype),
        place(node.source, options),
    )


def _table(graph: Graph, options: Options) -> Html:
    rows = [_row(node, options) for node in graph.nodes]
    head = ("Node", "Op", "Target", "Shape", "Dtype", "Source")
    return parts.table(head, rows, label=f"Nodes of {graph.title}", search=False)


def _code(graph: Graph, options: Options) -> Html:
    if not graph.code.strip():
        return parts.note("No code was kept for this graph.")
    body = highlight.block(
        graph.code,
        "python",
        options,
        label=graph.title,
        stage=graph.stage,
    )
    return parts.folded(body, "Python", parts.line_count(graph.code), options)


_DRAW = {"picture": _picture, "table": _table, "text": _code}


def html(artifact: Graph, options: Options) -> Html:
    """The view asked for, or all three in tabs."""
    if options.view:
        if options.view not in VIEWS:
            cause = f"a graph has no view {options.view!r}"
            raise TclabError(artifact.name or "graph", cause, f"use one of {', '.join(VIEWS)}")
        return _DRAW[options.view](artifact, options)
    panels = [(name.capitalize(), _DRAW[name](artifact, options)) for name in VIEWS]
    first = 1 if len(artifact.nodes) > MOST_SHOWN or not artifact.nodes else 0
    views = parts.tabs("View of the graph", panels, options, chosen=first, keep=True)
    return parts.fold(summary(artifact), views) if options.fold else views


def _called(node: Node) -> str:
    return "" if layout.is_input(node) or node.op == "output" else picture.short_target(node)


def text(artifact: Graph) -> str:
    """The table of nodes; the code where there are none."""
    head = columns.heading(artifact.title, summary(artifact))
    if not artifact.nodes:
        return columns.join(head, artifact.code and columns.indent(artifact.code.rstrip(), ""))
    rows = [
        (n.name, n.op, _called(n), picture.type_of(n) or "–", columns.place(n.source))
        for n in artifact.nodes
    ]
    return columns.join(head, columns.table(("node", "op", "target", "type", "source"), rows))
