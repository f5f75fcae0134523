"""An FX graph as a drawing: layers from igraph's Sugiyama layout, SVG of our own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tclab.render.escape import clean, esc, tag
from tclab.render.options import Options, source_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tclab.model import Graph, Node

Point = tuple[float, float]

_HEIGHT = 40.0  # of a box, in pixels
_GAP_X, _GAP_Y = 22.0, 34.0
_CHAR = 6.7  # width of a character of the label
_LONGEST = 26  # characters of a label

#: What an operation mostly is, by the name it has in ATen or torch; for colour only.
_KINDS = {
    "matrix": r"mm|bmm|addmm|baddbmm|matmul|linear|einsum|conv\w*|\w*attention\w*",
    "reduce": r"sum|mean|amax|amin|max|min|prod|var|var_mean|std|norm|argmax|argmin|cumsum"
    r"|logsumexp|_?(log_)?softmax|layer_norm|group_norm|native_\w*norm\w*|rms_norm",
    "view": r"view|_unsafe_view|reshape|flatten|permute|transpose|[tT]|expand|squeeze|unsqueeze"
    r"|slice|select|split\w*|getitem|as_strided|alias|clone|detach|contiguous|cat",
}

#: What the colours of a drawing mean.
CLASSES = {
    "input": "input",
    "matrix": "matrix product",
    "reduce": "reduction or normalisation",
    "view": "view or copy",
    "call": "other operation",
    "output": "output",
}


def short_target(node: Node) -> str:
    """The name of what a node calls, as short as is clear: ``add.Tensor``, ``linear``."""
    target = clean(node.target)
    if found := re.match(r"<(?:built-in )?(?:function|method) ([\w.]+)", target):
        target = found[1]
    if node.op == "call_module":
        return target
    pieces = target.split(".")
    if found := re.search(r"(?:^|\.)(aten|prims|_quantized|inductor)\.(.+)$", target):
        return found[2].removesuffix(".default")
    return pieces[-1] or target


def op_class(node: Node) -> str:
    """One of CLASSES."""
    if node.op in ("placeholder", "get_attr"):
        return "input"
    if node.op == "output":
        return "output"
    name = short_target(node).split(".")[0].rstrip("_") or short_target(node)
    found = (kind for kind, pattern in _KINDS.items() if re.fullmatch(pattern, name))
    return next(found, "call")


def type_of(node: Node) -> str:
    """``f32[8, 16]`` as PyTorch prints it; a scalar is ``f32[]``."""
    shape = "" if node.shape is None else f"[{', '.join(node.shape)}]"
    return clean(f"{node.dtype}{shape}")


def _label(node: Node) -> tuple[str, str]:
    first = node.name if node.op in ("placeholder", "get_attr") else short_target(node)
    if node.op == "output":
        first = "output"
    return _shorten(first), _shorten(type_of(node))


def _shorten(text: str) -> str:
    text = " ".join(clean(text).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


# ------------------------------------------------------------------------------- layout


@dataclass(frozen=True)
class Layout:
    """Centres of boxes, the points edges pass through, and sizes, in pixels."""

    centres: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
    box_width: float
    width: float
    height: float


def edges(nodes: Sequence[Node]) -> list[tuple[int, int]]:
    """(from, to) by place in `nodes`, each once. Names that are no node are left out."""
    place = {n.name: i for i, n in enumerate(nodes)}
    pairs = ((place.get(name), i) for i, n in enumerate(nodes) for name in n.inputs)
    return list(dict.fromkeys((a, b) for a, b in pairs if a is not None and a < b))


def layers(nodes: Sequence[Node], links: Sequence[tuple[int, int]]) -> list[int]:
    """The row of each node: below all it reads; an input just above its first reader."""
    level = [0] * len(nodes)
    for a, b in sorted(links, key=lambda e: e[1]):
        level[b] = max(level[b], level[a] + 1)
    readers: dict[int, list[int]] = {}
    for a, b in links:
        readers.setdefault(a, []).append(b)
    for i, node in enumerate(nodes):
        if node.op in ("placeholder", "get_attr"):
            level[i] = min((level[b] for b in readers.get(i, ())), default=1) - 1
    last = max(level, default=0)
    return [last if n.op == "output" else v for n, v in zip(nodes, level, strict=True)]


def lay_out(nodes: Sequence[Node]) -> Layout:
    """Where everything goes."""
    import igraph

    links = edges(nodes)
    rows = layers(nodes, links)
    longest = max((len(part) for n in nodes for part in _label(n)), default=6)
    box = max(64.0, longest * _CHAR + 18)
    step_x, step_y = box + _GAP_X, _HEIGHT + _GAP_Y
    graph = igraph.Graph(n=len(nodes), edges=links, directed=True)
    found = graph.layout_sugiyama(layers=rows, hgap=1, vgap=1, maxiter=200)
    routing = [[tuple(p) for p in route] for route in found.edge_routing]
    every = [tuple(p) for p in found.coords] + [p for route in routing for p in route]
    left = min((p[0] for p in every), default=0.0)
    right = max((p[0] for p in every), default=0.0)

    def at(p: Sequence[float]) -> Point:
        return (p[0] - left) * step_x + box / 2 + 6, p[1] * step_y + _HEIGHT / 2 + 6

    return Layout(
        centres=tuple(at(p) for p in found.coords),
        routes=tuple(tuple(at(p) for p in route) for route in routing),
        box_width=box,
        width=(right - left) * step_x + box + 12,
        height=max(rows, default=0) * step_y + _HEIGHT + 12,
    )


# ------------------------------------------------------------------------------- drawing


def _n(value: float) -> str:
    """A coordinate, short and the same on every machine."""
    return f"{value:.1f}".removesuffix(".0")


def _curve(points: Sequence[Point]) -> str:
    """A path through `points` that leaves and arrives downwards."""
    (x, y), *rest = points
    out = [f"M{_n(x)} {_n(y)}"]
    for to_x, to_y in rest:
        middle = (y + to_y) / 2
        out.append(f"C{_n(x)} {_n(middle)} {_n(to_x)} {_n(middle)} {_n(to_x)} {_n(to_y)}")
        x, y = to_x, to_y
    return "".join(out)


def _ports(links: Sequence[tuple[int, int]], layout: Layout) -> dict[tuple[int, int], float]:
    """Where along the top of its box each edge arrives: from left to right as they come."""
    arriving: dict[int, list[tuple[float, tuple[int, int]]]] = {}
    for link, route in zip(links, layout.routes, strict=True):
        came = route[-1] if route else layout.centres[link[0]]
        arriving.setdefault(link[1], []).append((came[0], link))
    out = {}
    for target, found in arriving.items():
        step = min(16.0, layout.box_width / (len(found) + 1))
        for i, (_, link) in enumerate(sorted(found)):
            out[link] = layout.centres[target][0] + (i - (len(found) - 1) / 2) * step
    return out


def _edges(links: Sequence[tuple[int, int]], layout: Layout, arrow: str) -> str:
    ports = _ports(links, layout)
    half = _HEIGHT / 2
    out = []
    for link, route in zip(links, layout.routes, strict=True):
        (x, y), (_, to_y) = layout.centres[link[0]], layout.centres[link[1]]
        points = [(x, y + half), *route, (ports[link], to_y - half - 5)]
        out.append(f'<path d="{_curve(points)}" marker-end="url(#{arrow})"/>')
    return tag("g", "".join(out), class_="tclab-edges", aria_hidden="true")


def _title(node: Node) -> str:
    call = f"{node.name} = {node.target}({node.args})" if node.op != "placeholder" else node.name
    where = f"{node.source}: {node.source.code.strip()}" if node.source else ""
    return "\n".join(part for part in (f"{call} [{node.op}]", type_of(node), where) if part)


def _box(node: Node, centre: Point, width: float, options: Options) -> str:
    first, second = _label(node)
    x, y = centre
    kind = op_class(node)
    lines = f'<text x="{_n(x)}" y="{_n(y - 2 if second else y + 4)}">{esc(first)}</text>'
    if second:
        lines += f'<text x="{_n(x)}" y="{_n(y + 13)}" class="tclab-type">{esc(second)}</text>'
    radius = _n(_HEIGHT / 2) if kind in ("input", "output") else "5"
    box = (
        f"<title>{esc(_title(node))}</title>"
        f'<rect x="{_n(x - width / 2)}" y="{_n(y - _HEIGHT / 2)}" width="{_n(width)}"'
        f' height="{_n(_HEIGHT)}" rx="{radius}"/>{lines}'
    )
    data = " ".join("".join(k.split()) for k in node.keys) or None
    url = source_url(node.source, options) if node.source else ""
    name = f"tclab-node tclab-op-{kind}"
    if url:
        return tag("a", box, href=url, class_=name, data_keys=data)
    return tag("g", box, class_=name, data_keys=data)


def svg(graph: Graph, options: Options) -> str:
    """The drawing; each node with a known line on this page links to it."""
    layout = lay_out(graph.nodes)
    arrow = options.id("arrow")
    boxes = [
        _box(node, centre, layout.box_width, options)
        for node, centre in zip(graph.nodes, layout.centres, strict=True)
    ]
    name = f"{graph.title or 'FX graph'}: {len(graph.nodes)} nodes"
    marker = (
        f'<defs><marker id="{arrow}" viewBox="0 0 8 8" refX="3" refY="4" markerWidth="7"'
        f' markerHeight="7" orient="auto"><path d="M0 0.5L7 4L0 7.5z"/></marker></defs>'
    )
    return tag(
        "svg",
        marker + _edges(edges(graph.nodes), layout, arrow) + "".join(boxes),
        xmlns="http://www.w3.org/2000/svg",
        class_="tclab-graph",
        role="group",
        aria_label=" ".join(clean(name).split()),
        viewBox=f"0 0 {_n(layout.width)} {_n(layout.height)}",
        width=_n(layout.width),
        height=_n(layout.height),
        style=f"--w:{_n(layout.width)}px",
    )


def legend(graph: Graph) -> str:
    """What the colours mean; only those that occur."""
    used = {op_class(n) for n in graph.nodes}
    items = "".join(
        f'<li><span class="tclab-swatch tclab-op-{kind}"></span>{name}</li>'
        for kind, name in CLASSES.items()
        if kind in used
    )
    return tag("ul", items, class_="tclab-legend")
