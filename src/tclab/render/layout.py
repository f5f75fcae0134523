"""Lay out the drawing of an FX graph: compute rows in this module, and columns with the help of
igraph.

Three rules keep a drawing readable. Inputs and constants are drawn again above each row that reads
them, instead of once with long lines. An operation on inputs only, such as the transpose of a
weight, is drawn just above its reader. An output node with many values is not drawn; the nodes that
it returns get a mark.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tclab.model import Node
from tclab.render.coordinates import ColumnSolver

Point = tuple[float, float]
Link = tuple[int, int]

#: An output node with more values is not drawn; the returned nodes get a mark.
MOST_OUTPUT_LINKS = 3


@dataclass(frozen=True)
class Box:
    """One drawn node. `is_repeat` says whether the node is also drawn further up."""

    node: Node
    row: int
    is_repeat: bool = False
    returned: bool = False


@dataclass(frozen=True)
class Scene:
    """Boxes, and lines between them as pairs of indices into `boxes`."""

    boxes: tuple[Box, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Layout:
    """The centres of the boxes and the points that each line passes, in units of columns
    and rows.
    """

    centres: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
    columns: float
    rows: int


def is_input(node: Node) -> bool:
    """Return whether a node is a placeholder or an attribute, which computes nothing."""
    return node.op in ("placeholder", "get_attr")


def readers(nodes: Sequence[Node]) -> dict[str, list[str]]:
    """Map each node to the names of the nodes that read it, in order. A node reads only earlier
    nodes.
    """
    readers_by_name: dict[str, list[str]] = {}
    for node in nodes:
        for name in dict.fromkeys(node.inputs):
            if name in readers_by_name:
                readers_by_name[name].append(node.name)
        readers_by_name.setdefault(node.name, [])
    return readers_by_name


def rows(nodes: Sequence[Node], read_by: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Map each operation to its row, which is below all nodes that it reads.

    If the operands of an operation depend only on inputs, and nothing else reads them, the
    operation moves down to just above its first reader, and the operands move with it.
    """
    ops = {n.name: n for n in nodes if not is_input(n)}
    reads = {
        name: [index for index in dict.fromkeys(n.inputs) if index in ops]
        for name, n in ops.items()
    }
    row: dict[str, int] = {}
    movable: dict[str, bool] = {}
    for name in ops:
        row[name] = max((row[index] + 1 for index in reads[name] if index in row), default=1)
        movable[name] = all(
            movable.get(index) and len(read_by[index]) == 1 for index in reads[name]
        )
    for name in reversed(ops):
        reader_rows = [row[reader] for reader in read_by[name] if ops[reader].op != "output"]
        if movable[name] and reader_rows:
            row[name] = max(row[name], min(reader_rows) - 1)
    last = max(row.values(), default=0)
    return {name: last if ops[name].op == "output" else r for name, r in row.items()}


def make_scene(nodes: Sequence[Node]) -> Scene:
    """Return the boxes to draw, and the lines between them."""
    unique = list({n.name: n for n in nodes}.values())
    returned = _returned_names(unique)
    drawn = [n for n in unique if n.op != "output"] if returned else unique
    read_by = readers(drawn)
    row = rows(drawn, read_by)
    boxes: list[Box] = []
    links: list[Link] = []
    box_index: dict[str, int] = {}
    for node in drawn:
        if is_input(node):
            continue
        read_boxes = (box_index[name] for name in dict.fromkeys(node.inputs) if name in box_index)
        links.extend((above, len(boxes)) for above in read_boxes)
        box_index[node.name] = len(boxes)
        boxes.append(Box(node, row[node.name], returned=node.name in returned))
    for node in filter(is_input, drawn):
        _add_input_boxes(node, read_by[node.name], row, box_index, returned, boxes, links)
    return Scene(tuple(boxes), tuple(links))


def _returned_names(nodes: Sequence[Node]) -> frozenset[str]:
    """Return the names of the nodes that get a mark because the output node is not drawn."""
    outputs = [n for n in nodes if n.op == "output"]
    names = {name for n in outputs for name in n.inputs}
    return frozenset(names) if len(names) > MOST_OUTPUT_LINKS else frozenset()


def _add_input_boxes(
    node: Node,
    reader_names: Sequence[str],
    row: Mapping[str, int],
    box_index: Mapping[str, int],
    returned_names: frozenset[str],
    boxes: list[Box],
    links: list[Link],
) -> None:
    """Add a box for an input above each row that reads it. An input that nothing reads gets a box
    in row 0. `box_index` maps a node's name to the index of its box.
    """
    is_returned = node.name in returned_names
    reader_rows = sorted({row[name] for name in reader_names})
    if not reader_rows:
        boxes.append(Box(node, 0, returned=is_returned))
    for reader_row in reader_rows:
        boxes.append(
            Box(node, reader_row - 1, is_repeat=reader_row != reader_rows[0], returned=is_returned)
        )
        links.extend((len(boxes) - 1, box_index[n]) for n in reader_names if row[n] == reader_row)


def lay_out(drawing: Scene) -> Layout:
    """Compute the layout. Rows are fixed; igraph's Sugiyama layout orders each row with few
    crossings.
    """
    import igraph

    graph = igraph.Graph(n=len(drawing.boxes), edges=list(drawing.links), directed=True)
    layers = [box.row for box in drawing.boxes]
    sugiyama = graph.layout_sugiyama(layers=layers, hgap=1, vgap=1, maxiter=200)
    items = [(x, round(y)) for x, y in sugiyama.coords]
    chains = []
    for (upper, lower), route in zip(drawing.links, sugiyama.edge_routing, strict=True):
        points = range(len(items), len(items) + len(route))
        items += [(x, round(y)) for x, y in route]
        chains.append([upper, *points, lower])
    columns = _solve_columns(items, chains, drawing)
    leftmost = min(columns, default=0.0)
    shifted = [(x - leftmost, float(y)) for x, (_, y) in zip(columns, items, strict=True)]
    return Layout(
        centres=tuple(shifted[: len(drawing.boxes)]),
        routes=tuple(tuple(shifted[index] for index in chain[1:-1]) for chain in chains),
        columns=max(columns, default=0.0) - leftmost,
        rows=max(layers, default=0),
    )


def _solve_columns(
    items: Sequence[Point], chains: Sequence[Sequence[int]], drawing: Scene
) -> list[float]:
    """Return the column of each box and of each point of a line, in the given order of each row."""
    in_rows: dict[float, list[int]] = {}
    for item, (_, y) in enumerate(items):
        in_rows.setdefault(y, []).append(item)
    ordered = [
        sorted(in_rows[y], key=lambda index: (items[index][0], index)) for y in sorted(in_rows)
    ]
    is_route_point = [item >= len(drawing.boxes) for item in range(len(items))]
    links = [
        (a, b, 8.0 if is_route_point[a] and is_route_point[b] else weight)
        for chain, weight in zip(chains, _choose_weights(drawing), strict=True)
        for a, b in itertools.pairwise(chain)
    ]
    return ColumnSolver(ordered, links, is_route_point, [x for x, _ in items]).solve()


def _choose_weights(drawing: Scene) -> list[float]:
    """Return the weight of each line: the greater, the straighter it is drawn. A line between an
    operation and its only reader has the greatest weight.
    """
    operations = [link for link in drawing.links if not is_input(drawing.boxes[link[0]].node)]
    leaving, arriving = Counter(a for a, _ in operations), Counter(b for _, b in operations)
    sole = {(a, b) for a, b in operations if leaving[a] == arriving[b] == 1}
    return [
        0.2 if is_input(drawing.boxes[a].node) else (6.0 if (a, b) in sole else 1.0)
        for a, b in drawing.links
    ]
