"""What is drawn of an FX graph and where: rows of our own, columns from igraph.

Three things keep a drawing readable. An input is drawn beside each row that reads it, not
once with lines across the page; so is a constant. An operation on inputs alone, such as
the transpose of a weight, stands just above its reader. An output node of many values is
not drawn: the nodes it returns are marked instead.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tclab.model import Node
from tclab.render.coordinates import Columns

Point = tuple[float, float]
Link = tuple[int, int]

#: An output node with more values than this is shown by marks on what it returns.
MOST_OUTPUT_LINKS = 3


@dataclass(frozen=True)
class Box:
    """One drawn node. `again` is whether the same node is drawn further up too."""

    node: Node
    row: int
    again: bool = False
    returned: bool = False


@dataclass(frozen=True)
class Scene:
    """Boxes, and lines between them by their place in `boxes`."""

    boxes: tuple[Box, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Layout:
    """Centres of the boxes and the points each line passes, in columns and rows."""

    centres: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
    columns: float
    rows: int


def is_input(node: Node) -> bool:
    """Whether it computes nothing: a placeholder or an attribute."""
    return node.op in ("placeholder", "get_attr")


def readers(nodes: Sequence[Node]) -> dict[str, list[str]]:
    """The names of the nodes that read each node, in order. A node reads only earlier ones."""
    out: dict[str, list[str]] = {}
    for node in nodes:
        for name in dict.fromkeys(node.inputs):
            if name in out:
                out[name].append(node.name)
        out.setdefault(node.name, [])
    return out


def rows(nodes: Sequence[Node], read_by: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The row of each operation: below all that it reads, inputs take the row above.

    An operation whose operands come from inputs by way of nodes that only it reads moves
    down to its first reader, and they with it.
    """
    ops = {n.name: n for n in nodes if not is_input(n)}
    reads = {name: [i for i in dict.fromkeys(n.inputs) if i in ops] for name, n in ops.items()}
    row: dict[str, int] = {}
    free: dict[str, bool] = {}
    for name in ops:
        row[name] = max((row[i] + 1 for i in reads[name] if i in row), default=1)
        free[name] = all(free.get(i) and len(read_by[i]) == 1 for i in reads[name])
    for name in reversed(ops):
        below = [row[reader] for reader in read_by[name] if ops[reader].op != "output"]
        if free[name] and below:
            row[name] = max(row[name], min(below) - 1)
    last = max(row.values(), default=0)
    return {name: last if ops[name].op == "output" else r for name, r in row.items()}


def scene(nodes: Sequence[Node]) -> Scene:
    """What is drawn."""
    unique = list({n.name: n for n in nodes}.values())
    returned = _marked(unique)
    drawn = [n for n in unique if n.op != "output"] if returned else unique
    read_by = readers(drawn)
    row = rows(drawn, read_by)
    boxes: list[Box] = []
    links: list[Link] = []
    place: dict[str, int] = {}
    for node in drawn:
        if is_input(node):
            continue
        known = (place[name] for name in dict.fromkeys(node.inputs) if name in place)
        links.extend((above, len(boxes)) for above in known)
        place[node.name] = len(boxes)
        boxes.append(Box(node, row[node.name], returned=node.name in returned))
    for node in filter(is_input, drawn):
        _place_input(node, read_by[node.name], row, place, returned, boxes, links)
    return Scene(tuple(boxes), tuple(links))


def _marked(nodes: Sequence[Node]) -> frozenset[str]:
    """The nodes that get a mark because the output node is not drawn."""
    outputs = [n for n in nodes if n.op == "output"]
    names = {name for n in outputs for name in n.inputs}
    return frozenset(names) if len(names) > MOST_OUTPUT_LINKS else frozenset()


def _place_input(
    node: Node,
    names: Sequence[str],
    row: Mapping[str, int],
    place: Mapping[str, int],
    returned: frozenset[str],
    boxes: list[Box],
    links: list[Link],
) -> None:
    """A box above each row that reads the input; one in the first row if none does."""
    mark = node.name in returned
    levels = sorted({row[name] for name in names})
    if not levels:
        boxes.append(Box(node, 0, returned=mark))
    for level in levels:
        boxes.append(Box(node, level - 1, again=level != levels[0], returned=mark))
        links.extend((len(boxes) - 1, place[n]) for n in names if row[n] == level)


def lay_out(drawing: Scene) -> Layout:
    """Rows are given; igraph's Sugiyama layout orders each to avoid crossings."""
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
    columns = _columns(items, chains, drawing)
    left = min(columns, default=0.0)
    at = [(x - left, float(y)) for x, (_, y) in zip(columns, items, strict=True)]
    return Layout(
        centres=tuple(at[: len(drawing.boxes)]),
        routes=tuple(tuple(at[i] for i in chain[1:-1]) for chain in chains),
        columns=max(columns, default=0.0) - left,
        rows=max(layers, default=0),
    )


def _columns(
    items: Sequence[Point], chains: Sequence[Sequence[int]], drawing: Scene
) -> list[float]:
    """Columns of boxes and of the points that lines pass, for their order in each row."""
    in_rows: dict[float, list[int]] = {}
    for item, (_, y) in enumerate(items):
        in_rows.setdefault(y, []).append(item)
    ordered = [sorted(in_rows[y], key=lambda i: (items[i][0], i)) for y in sorted(in_rows)]
    thin = [item >= len(drawing.boxes) for item in range(len(items))]
    links = [
        (a, b, 8.0 if thin[a] and thin[b] else weight)
        for chain, weight in zip(chains, _weights(drawing), strict=True)
        for a, b in itertools.pairwise(chain)
    ]
    return Columns(ordered, links, thin, [x for x, _ in items]).solve()


def _weights(drawing: Scene) -> list[float]:
    """How straight each line should be: most where one operation feeds just one other."""
    operations = [link for link in drawing.links if not is_input(drawing.boxes[link[0]].node)]
    leaving, arriving = Counter(a for a, _ in operations), Counter(b for _, b in operations)
    sole = {(a, b) for a, b in operations if leaving[a] == arriving[b] == 1}
    return [
        0.2 if is_input(drawing.boxes[a].node) else (6.0 if (a, b) in sole else 1.0)
        for a, b in drawing.links
    ]
