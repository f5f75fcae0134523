"""Render FX graphs in three views: a picture, a table and the readable code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.errors import TclabError
from tclab.render import columns, highlight, layout, parts, picture
from tclab.render.escape import Html, esc, join
from tclab.render.options import Options, place_link

if TYPE_CHECKING:
    from tclab.model import Graph, Node

#: A graph with more than MOST_SHOWN nodes opens as a table, and its picture is folded. A graph with
#: more than MOST_DRAWN nodes gets no picture.
MOST_SHOWN, MOST_DRAWN = 120, 400

VIEWS = ("picture", "table", "text")


def summary(graph: Graph) -> str:
    """Count nodes and operations."""
    return f"{parts.count(len(graph.nodes), 'node')}, {parts.count(len(graph), 'operation')}"


def _draw_picture(graph: Graph, options: Options) -> Html:
    if not graph.nodes:
        return parts.note("An empty graph.")
    if len(graph.nodes) > MOST_DRAWN:
        notice = f"{len(graph.nodes):,} nodes are too many to draw; the table lists them."
        return parts.note(notice)
    drawing = parts.scroll_box(
        picture.draw_svg(graph, options),
        graph.title or "FX graph",
        search=False,
        class_="tclab-canvas",
    )
    drawing = join([picture.legend(graph), drawing])
    if len(graph.nodes) > MOST_SHOWN:
        return parts.fold(f"Picture of {len(graph.nodes):,} nodes", drawing)
    return drawing


def _table_row(node: Node, options: Options) -> tuple[Html, ...]:
    shape = parts.DASH if node.shape is None else parts.code(f"[{', '.join(node.shape)}]")
    return (
        parts.code(node.name),
        esc(node.op),
        parts.code(node.target),
        shape,
        parts.code(node.dtype),
        place_link(node.source, options),
    )


def _draw_table(graph: Graph, options: Options) -> Html:
    rows = [_table_row(node, options) for node in graph.nodes]
    head = ("Node", "Op", "Target", "Shape", "Dtype", "Source")
    return parts.table(head, rows, label=f"Nodes of {graph.title}", search=False)


def _draw_code(graph: Graph, options: Options) -> Html:
    if not graph.code.strip():
        return parts.note("No code was kept for this graph.")
    body = highlight.block(
        graph.code,
        "python",
        options,
        label=graph.title,
        stage=graph.stage,
    )
    return parts.fold_if_long(body, "Python", parts.line_count(graph.code), options)


_DRAW_VIEW = {"picture": _draw_picture, "table": _draw_table, "text": _draw_code}


def html(artifact: Graph, options: Options) -> Html:
    """Return the view that the options ask for, or all three in tabs."""
    if options.view:
        if options.view not in VIEWS:
            cause = f"a graph has no view {options.view!r}"
            raise TclabError(artifact.name or "graph", cause, f"use one of {', '.join(VIEWS)}")
        return _DRAW_VIEW[options.view](artifact, options)
    panels = [(name.capitalize(), _DRAW_VIEW[name](artifact, options)) for name in VIEWS]
    chosen_view = 1 if len(artifact.nodes) > MOST_SHOWN or not artifact.nodes else 0
    views = parts.tabs("View of the graph", panels, options, chosen_index=chosen_view, keep=True)
    return parts.fold(summary(artifact), views) if options.fold else views


def _target_text(node: Node) -> str:
    return "" if layout.is_input(node) or node.op == "output" else picture.short_target(node)


def text(artifact: Graph) -> str:
    """Return the table of nodes, or the code if there are no nodes."""
    head = columns.heading(artifact.title, summary(artifact))
    if not artifact.nodes:
        return columns.join(head, artifact.code and columns.indent(artifact.code.rstrip(), ""))
    rows = [
        (n.name, n.op, _target_text(n), picture.type_text(n) or "–", columns.place_text(n.source))
        for n in artifact.nodes
    ]
    return columns.join(head, columns.table(("node", "op", "target", "type", "source"), rows))
