"""Draw FX graphs as SVG, with boxes and curves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tclab.render.escape import Html, clean, esc, join, markup, one_line, tag
from tclab.render.layout import Box, Link, Point, Scene, is_input, lay_out, make_scene
from tclab.render.options import Options, source_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tclab.model import Graph, Node

_HEIGHT = 40.0  # height of a box in pixels
_GAP_X, _GAP_Y = 22.0, 34.0
_MARGIN = 6.0
_CHAR = 6.7  # width of a character of the label
_LONGEST = 28  # the most characters of a label

#: Class of operation → pattern of its names in ATen or torch. The class decides only the colour.
_KINDS = {
    "matrix": r"mm|bmm|addmm|baddbmm|matmul|linear|einsum|conv\w*|\w*attention\w*",
    "reduce": r"sum|mean|amax|amin|max|min|prod|var|var_mean|std|norm|argmax|argmin|cumsum"
    r"|logsumexp|_?(log_)?softmax|layer_norm|group_norm|native_\w*norm\w*|rms_norm",
    "view": r"view|_unsafe_view|reshape|flatten|permute|transpose|[tT]|expand|squeeze|unsqueeze"
    r"|slice|select|split\w*|getitem|as_strided|alias|clone|detach|contiguous|cat",
}

#: Class of node → its meaning in the legend.
CLASSES = {
    "input": "input",
    "matrix": "matrix product",
    "reduce": "reduction or normalisation",
    "view": "view or copy",
    "call": "other operation",
    "output": "output",
}


# torch.ops.aten.add.Tensor, aten.add.Tensor, torch.ops.mylib.scaled.default
_OPERATOR = re.compile(
    r"(?:^|\.)(?:aten|prims|_quantized|inductor)\.(?P<of_pytorch>.+)$"
    r"|^torch\.ops\.\w+\.(?P<other>\w+\.\w+)$"
)


def short_target(node: Node) -> str:
    """Return a short name for the target of a node: ``add.Tensor``, ``linear``."""
    target = clean(node.target)
    if match := re.match(r"<(?:built-in )?(?:function|method) ([\w.]+)", target):
        target = match[1]
    if node.op == "call_module":
        return target
    pieces = target.split(".")
    if match := _OPERATOR.search(target):
        return (match["of_pytorch"] or match["other"]).removesuffix(".default")
    return _without_module(pieces[-1], node.name) or target


def _without_module(name: str, node_name: str) -> str:
    """Return ``wrapped_sin`` for FX's ``torch__dynamo_utils_wrapped_sin``; else the name."""
    function = re.sub(r"_\d+$", "", node_name)
    return function if re.fullmatch(rf"torch_\w+_{re.escape(function)}", name) else name


def op_class(node: Node) -> str:
    """Return the class of a node, one of CLASSES."""
    if is_input(node):
        return "input"
    if node.op == "output":
        return "output"
    name = short_target(node).split(".")[0].rstrip("_") or short_target(node)
    kinds = (kind for kind, pattern in _KINDS.items() if re.fullmatch(pattern, name))
    return next(kinds, "call")


def type_text(node: Node) -> str:
    """Return the type of a node as PyTorch prints it: ``f32[8, 16]``; a scalar is ``f32[]``."""
    shape = "" if node.shape is None else f"[{', '.join(node.shape)}]"
    return clean(f"{node.dtype}{shape}")


def _label(node: Node) -> tuple[str, str]:
    label = _input_name(node.name) if is_input(node) else short_target(node)
    if node.op == "output":
        label = "output"
    return _shorten(label), _shorten(type_text(node))


def _input_name(name: str) -> str:
    """Return ``n1.weight`` for Dynamo's ``l_self_modules_n1_parameters_weight_``; else the name."""
    match = re.fullmatch(r"[lL]_\w+?_((?:modules|parameters|buffers)_\w+?)_*", name)
    if not match:
        return name
    pieces = re.split(r"_?(?:modules|parameters|buffers)_", match[1])
    return ".".join(piece for piece in pieces if piece)


def _shorten(text: str) -> str:
    text = " ".join(clean(text).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


#: On a phone the graph's table replaces a drawing that is wider than this number of pixels.
WIDEST_ON_PHONE = 560


@dataclass(frozen=True)
class _Drawing:
    """A layout in pixels."""

    scene: Scene
    centres: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
    box: float  # width of a box
    width: float
    height: float


def _lay_out_in_pixels(nodes: Sequence[Node]) -> _Drawing:
    drawn = make_scene(nodes)
    layout = lay_out(drawn)
    longest = max((len(part) for box in drawn.boxes for part in _label(box.node)), default=6)
    box = max(64.0, longest * _CHAR + 18)
    step_x, step_y = box + _GAP_X, _HEIGHT + _GAP_Y

    def to_pixels(p: Point) -> Point:
        return p[0] * step_x + box / 2 + _MARGIN, p[1] * step_y + _HEIGHT / 2 + _MARGIN

    return _Drawing(
        drawn,
        tuple(to_pixels(p) for p in layout.centres),
        tuple(tuple(to_pixels(p) for p in route) for route in layout.routes),
        box,
        width=layout.columns * step_x + box + 2 * _MARGIN,
        height=layout.rows * step_y + _HEIGHT + 2 * _MARGIN,
    )


def _fmt(value: float) -> str:
    """Format a coordinate with at most one decimal, so that the text is equal on every machine."""
    return f"{value:.1f}".removesuffix(".0")


def _draw_curve(points: Sequence[Point]) -> Html:
    """Return a path through `points` that starts and ends vertically."""
    (x, y), *rest = points
    segments = [f"M{_fmt(x)} {_fmt(y)}"]
    for to_x, to_y in rest:
        middle = (y + to_y) / 2
        segments.append(
            f"C{_fmt(x)} {_fmt(middle)} {_fmt(to_x)} {_fmt(middle)} {_fmt(to_x)} {_fmt(to_y)}"
        )
        x, y = to_x, to_y
    return esc("".join(segments))


def _arrival_points(drawing: _Drawing) -> dict[Link, float]:
    """Map each line to the x at which it reaches the top of its box. Lines keep their order."""
    arriving: dict[int, list[tuple[float, Link]]] = {}
    for link, route in zip(drawing.scene.links, drawing.routes, strict=True):
        previous = route[-1] if route else drawing.centres[link[0]]
        arriving.setdefault(link[1], []).append((previous[0], link))
    x_by_link = {}
    for target, arrivals in arriving.items():
        step = min(16.0, drawing.box / (len(arrivals) + 1))
        for i, (_, link) in enumerate(sorted(arrivals)):
            x_by_link[link] = drawing.centres[target][0] + (i - (len(arrivals) - 1) / 2) * step
    return x_by_link


def _draw_edges(drawing: _Drawing, arrow: str) -> Html:
    ports = _arrival_points(drawing)
    half = _HEIGHT / 2
    paths = []
    for link, route in zip(drawing.scene.links, drawing.routes, strict=True):
        (x, y), (_, to_y) = drawing.centres[link[0]], drawing.centres[link[1]]
        points = [(x, y + half), *route, (ports[link], to_y - half - 5)]
        paths.append(
            markup('<path d="{}" marker-end="url(#{})"/>', _draw_curve(points), esc(arrow))
        )
    return tag("g", *paths, class_="tclab-edges", aria_hidden="true")


def _draw_title(box: Box) -> str:
    node = box.node
    call = f"{node.name} = {node.target}({node.args})" if node.op != "placeholder" else node.name
    where = f"{node.source}: {node.source.code.strip()}" if node.source else ""
    returned = "returned by the graph" if box.returned else ""
    parts = (f"{call} [{node.op}]", type_text(node), where, returned)
    return "\n".join(part for part in parts if part)


def _draw_rect(box: Box, centre: Point, width: float) -> Html:
    x, y = centre
    is_round = op_class(box.node) in ("input", "output")
    corner = _HEIGHT / 2 if is_round else 5.0
    shape = map(_fmt, (x - width / 2, y - _HEIGHT / 2, width, _HEIGHT, corner))
    return markup('<rect x="{}" y="{}" width="{}" height="{}" rx="{}"/>', *map(esc, shape))


def _draw_label(box: Box, centre: Point) -> Html:
    first, second = _label(box.node)
    x, y = centre
    name = tag(
        "text",
        esc(first),
        x=_fmt(x),
        y=_fmt(y - 2 if second else y + 4),
    )
    if not second:
        return name
    return join(
        [
            name,
            tag(
                "text",
                esc(second),
                x=_fmt(x),
                y=_fmt(y + 13),
                class_="tclab-type",
            ),
        ]
    )


def _draw_box(box: Box, centre: Point, width: float, options: Options) -> Html:
    node = box.node
    elements = [
        tag("title", esc(_draw_title(box))),
        _draw_rect(box, centre, width),
        _draw_label(box, centre),
    ]
    if box.returned:
        x, y = centre[0] + width / 2 - 7, centre[1] + _HEIGHT / 2
        elements.append(
            markup(
                '<circle cx="{}" cy="{}" r="4.5"/>',
                esc(_fmt(x)),
                esc(_fmt(y)),
            )
        )
    name = f"tclab-node tclab-op-{op_class(node)}" + (" tclab-again" if box.is_repeat else "")
    url = source_url(node.source, options) if node.source else ""
    return tag("a" if url else "g", *elements, href=url or None, class_=name)


def draw_svg(graph: Graph, options: Options) -> Html:
    """Return the drawing. Nodes link to their source line if it has an address."""
    drawing = _lay_out_in_pixels(graph.nodes)
    arrow = options.id("arrow")
    boxes = [
        _draw_box(box, centre, drawing.box, options)
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
        _draw_edges(drawing, arrow),
        *boxes,
        xmlns="http://www.w3.org/2000/svg",
        class_="tclab-graph" + (" tclab-wide" if drawing.width > WIDEST_ON_PHONE else ""),
        role="group",
        aria_label=one_line(f"{graph.title or 'FX graph'}: {len(graph.nodes)} nodes"),
        viewBox=f"0 0 {_fmt(drawing.width)} {_fmt(drawing.height)}",
        width=_fmt(drawing.width),
        height=_fmt(drawing.height),
        style=f"--w:{_fmt(drawing.width)}px",
    )


def legend(graph: Graph) -> Html:
    """Return a legend of the colours and marks that occur in the drawing."""
    boxes = make_scene(graph.nodes).boxes
    used = {op_class(box.node) for box in boxes}
    names = [(f"tclab-op-{kind}", name) for kind, name in CLASSES.items() if kind in used]
    if any(box.is_repeat for box in boxes):
        names.append(("tclab-op-input tclab-again", "input shown again"))
    if any(box.returned for box in boxes):
        names.append(("tclab-returned", "returned"))
    items = [
        tag("li", tag("span", class_=f"tclab-swatch {kind}"), esc(name)) for kind, name in names
    ]
    return tag("ul", *items, class_="tclab-legend")
