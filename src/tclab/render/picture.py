"""An FX graph as a drawing: boxes and curves as SVG."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tclab.render.escape import Html, clean, esc, join, markup, one_line, tag
from tclab.render.layout import Box, Link, Point, Scene, is_input, lay_out, scene
from tclab.render.options import Options, source_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tclab.model import Graph, Node

_HEIGHT = 40.0  # of a box, in pixels
_GAP_X, _GAP_Y = 22.0, 34.0
_MARGIN = 6.0
_CHAR = 6.7  # width of a character of the label
_LONGEST = 28  # characters of a label

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
    if match := re.match(r"<(?:built-in )?(?:function|method) ([\w.]+)", target):
        target = match[1]
    if node.op == "call_module":
        return target
    pieces = target.split(".")
    if match := re.search(r"(?:^|\.)(aten|prims|_quantized|inductor)\.(.+)$", target):
        return match[2].removesuffix(".default")
    return pieces[-1] or target


def op_class(node: Node) -> str:
    """One of CLASSES."""
    if is_input(node):
        return "input"
    if node.op == "output":
        return "output"
    name = short_target(node).split(".")[0].rstrip("_") or short_target(node)
    kinds = (kind for kind, pattern in _KINDS.items() if re.fullmatch(pattern, name))
    return next(kinds, "call")


def type_of(node: Node) -> str:
    """``f32[8, 16]`` as PyTorch prints it; a scalar is ``f32[]``."""
    shape = "" if node.shape is None else f"[{', '.join(node.shape)}]"
    return clean(f"{node.dtype}{shape}")


def _label(node: Node) -> tuple[str, str]:
    first = _input_name(node.name) if is_input(node) else short_target(node)
    if node.op == "output":
        first = "output"
    return _shorten(first), _shorten(type_of(node))


def _input_name(name: str) -> str:
    """``n1.weight`` for Dynamo's ``l_self_modules_n1_parameters_weight_``; else the name."""
    match = re.fullmatch(r"[lL]_\w+?_((?:modules|parameters|buffers)_\w+?)_*", name)
    if not match:
        return name
    pieces = re.split(r"_?(?:modules|parameters|buffers)_", match[1])
    return ".".join(piece for piece in pieces if piece)


def _shorten(text: str) -> str:
    text = " ".join(clean(text).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


#: A drawing of more pixels gives way to the graph's table on a phone.
WIDE = 560


@dataclass(frozen=True)
class _Drawing:
    """A layout in pixels."""

    scene: Scene
    centres: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
    box: float  # width of a box
    width: float
    height: float


def _draw(nodes: Sequence[Node]) -> _Drawing:
    drawn = scene(nodes)
    layout = lay_out(drawn)
    longest = max((len(part) for box in drawn.boxes for part in _label(box.node)), default=6)
    box = max(64.0, longest * _CHAR + 18)
    step_x, step_y = box + _GAP_X, _HEIGHT + _GAP_Y

    def at(p: Point) -> Point:
        return p[0] * step_x + box / 2 + _MARGIN, p[1] * step_y + _HEIGHT / 2 + _MARGIN

    return _Drawing(
        drawn,
        tuple(at(p) for p in layout.centres),
        tuple(tuple(at(p) for p in route) for route in layout.routes),
        box,
        width=layout.columns * step_x + box + 2 * _MARGIN,
        height=layout.rows * step_y + _HEIGHT + 2 * _MARGIN,
    )


def _n(value: float) -> str:
    """A coordinate, short and the same on every machine."""
    return f"{value:.1f}".removesuffix(".0")


def _curve(points: Sequence[Point]) -> Html:
    """A path through `points` that leaves and arrives downwards."""
    (x, y), *rest = points
    out = [f"M{_n(x)} {_n(y)}"]
    for to_x, to_y in rest:
        middle = (y + to_y) / 2
        out.append(f"C{_n(x)} {_n(middle)} {_n(to_x)} {_n(middle)} {_n(to_x)} {_n(to_y)}")
        x, y = to_x, to_y
    return esc("".join(out))


def _ports(drawing: _Drawing) -> dict[Link, float]:
    """Where along the top of its box each line arrives: from left to right as they come."""
    arriving: dict[int, list[tuple[float, Link]]] = {}
    for link, route in zip(drawing.scene.links, drawing.routes, strict=True):
        came = route[-1] if route else drawing.centres[link[0]]
        arriving.setdefault(link[1], []).append((came[0], link))
    out = {}
    for target, found in arriving.items():
        step = min(16.0, drawing.box / (len(found) + 1))
        for i, (_, link) in enumerate(sorted(found)):
            out[link] = drawing.centres[target][0] + (i - (len(found) - 1) / 2) * step
    return out


def _lines(drawing: _Drawing, arrow: str) -> Html:
    ports = _ports(drawing)
    half = _HEIGHT / 2
    paths = []
    for link, route in zip(drawing.scene.links, drawing.routes, strict=True):
        (x, y), (_, to_y) = drawing.centres[link[0]], drawing.centres[link[1]]
        points = [(x, y + half), *route, (ports[link], to_y - half - 5)]
        paths.append(markup('<path d="{}" marker-end="url(#{})"/>', _curve(points), esc(arrow)))
    return tag("g", *paths, class_="tclab-edges", aria_hidden="true")


def _title(box: Box) -> str:
    node = box.node
    call = f"{node.name} = {node.target}({node.args})" if node.op != "placeholder" else node.name
    where = f"{node.source}: {node.source.code.strip()}" if node.source else ""
    returned = "returned by the graph" if box.returned else ""
    parts = (f"{call} [{node.op}]", type_of(node), where, returned)
    return "\n".join(part for part in parts if part)


def _rect(box: Box, centre: Point, width: float) -> Html:
    x, y = centre
    round_ = op_class(box.node) in ("input", "output")
    corner = _HEIGHT / 2 if round_ else 5.0
    shape = map(_n, (x - width / 2, y - _HEIGHT / 2, width, _HEIGHT, corner))
    return markup('<rect x="{}" y="{}" width="{}" height="{}" rx="{}"/>', *map(esc, shape))


def _words(box: Box, centre: Point) -> Html:
    first, second = _label(box.node)
    x, y = centre
    name = tag("text", esc(first), x=_n(x), y=_n(y - 2 if second else y + 4))
    if not second:
        return name
    return join([name, tag("text", esc(second), x=_n(x), y=_n(y + 13), class_="tclab-type")])


def _box(box: Box, centre: Point, width: float, options: Options) -> Html:
    node = box.node
    drawn = [tag("title", esc(_title(box))), _rect(box, centre, width), _words(box, centre)]
    if box.returned:
        x, y = centre[0] + width / 2 - 7, centre[1] + _HEIGHT / 2
        drawn.append(markup('<circle cx="{}" cy="{}" r="4.5"/>', esc(_n(x)), esc(_n(y))))
    name = f"tclab-node tclab-op-{op_class(node)}" + (" tclab-again" if box.again else "")
    url = source_url(node.source, options) if node.source else ""
    return tag("a" if url else "g", *drawn, href=url or None, class_=name)


def svg(graph: Graph, options: Options) -> Html:
    """The drawing; each node with a known line on this page links to it."""
    drawing = _draw(graph.nodes)
    arrow = options.id("arrow")
    boxes = [
        _box(box, centre, drawing.box, options)
        for box, centre in zip(drawing.scene.boxes, drawing.centres, strict=True)
    ]
    marker = markup(
        '<defs><marker id="{}" viewBox="0 0 8 8" refX="3" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0 0.5L7 4L0 7.5z"/></marker></defs>',
        arrow,
    )
    return tag(
        "svg",
        marker,
        _lines(drawing, arrow),
        *boxes,
        xmlns="http://www.w3.org/2000/svg",
        class_="tclab-graph" + (" tclab-wide" if drawing.width > WIDE else ""),
        role="group",
        aria_label=one_line(f"{graph.title or 'FX graph'}: {len(graph.nodes)} nodes"),
        viewBox=f"0 0 {_n(drawing.width)} {_n(drawing.height)}",
        width=_n(drawing.width),
        height=_n(drawing.height),
        style=f"--w:{_n(drawing.width)}px",
    )


def legend(graph: Graph) -> Html:
    """What the colours and marks mean; only those that occur."""
    boxes = scene(graph.nodes).boxes
    used = {op_class(box.node) for box in boxes}
    names = [(f"tclab-op-{kind}", name) for kind, name in CLASSES.items() if kind in used]
    if any(box.again for box in boxes):
        names.append(("tclab-op-input tclab-again", "input shown again"))
    if any(box.returned for box in boxes):
        names.append(("tclab-returned", "returned"))
    items = [
        tag("li", tag("span", class_=f"tclab-swatch {kind}"), esc(name)) for kind, name in names
    ]
    return tag("ul", *items, class_="tclab-legend")
