"""Show the way of a call through the compiler, and the stage that the chapter is about.

    ---
    flow: guards
    ---

A chapter has the way as a line of links, its own stage in bold letters. The chapter about the whole
way has it as a drawing (``picture: way``), where each box is a link to its chapter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tclab.errors import PageError
from tclab.render.escape import NOTHING, Html, esc, markup, tag

WIDTH, HEIGHT = 344, 162


@dataclass(frozen=True)
class Box:
    """A box of the drawing: its label, its page, its top left corner and its size."""

    label: str
    page: str
    x: int
    y: int
    width: int
    height: int = 32


BOXES = {
    "call": Box("Your call", "the-call", 2, 6, 82),
    "guards": Box("Guards", "guards", 124, 6, 82),
    "run": Box("Kernels run", "cuda-graphs", 258, 6, 84),
    "dynamo": Box("Dynamo", "dynamo", 1, 76, 62),
    "aotautograd": Box("AOTAutograd", "aotautograd", 73, 76, 100),
    "inductor": Box("Inductor", "inductor", 183, 76, 66),
    "codegen": Box("Triton, C++", "triton", 259, 76, 84),
    "caches": Box("Caches on disk", "caches", 73, 128, 270, 28),
}

#: The stages of a line of links; the caches, which serve several of them, come last.
_IN_ORDER = ("call", "guards", "dynamo", "aotautograd", "inductor", "codegen", "run", "caches")

#: Paths with an arrowhead, then the dashed lines between the stages and the caches.
_ARROWS = (
    *("M84 22H119", "M206 22H253", "M165 38V57H32V71", "M63 92H68", "M173 92H178", "M249 92H254"),
    "M301 76V43",
)
_DASHED_LINES = "M123 108V128M216 108V128M301 108V128"
#: Labels of arrows: text, x, y.
_ARROW_LABELS = (("all hold", 209, 16), ("none fits: compile", 40, 70))
_ARROWHEAD = "M-5 -4L0 0L-5 4"


def strip(highlighted: Any, path_to_root: str, place: str) -> Html:
    """Return the stages as a line of links, those called `highlighted`, a name or several, in bold
    letters; '' if nothing is highlighted.

    `path_to_root` leads from the page to the root of the site. Raises PageError at `place` for an
    unknown name.
    """
    names = [highlighted] if isinstance(highlighted, str) else [*(highlighted or ())]
    for name in names:
        if name not in BOXES:
            raise PageError(place, f"the flow has no {name!r}", f"it has: {', '.join(BOXES)}")
    if not names:
        return NOTHING
    stages = (
        tag("li", tag("a", esc(BOXES[name].label), href=_address(BOXES[name], path_to_root),
                      aria_current="true" if name in names else None))
        for name in _IN_ORDER
    )  # fmt: skip
    return tag("nav", tag("ol", *stages), class_="tclab-strip", data_search_exclude="",
               aria_label="The way of a call through the compiler")  # fmt: skip


def way(path_to_root: str) -> Html:
    """Return the drawing of the whole way."""
    svg = tag(
        "svg",
        *_draw_arrows(),
        *(_draw_box(box, path_to_root) for box in BOXES.values()),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="group",
        aria_label="The way of a call through the compiler",
    )
    return tag("figure", svg, class_="tclab-way", data_search_exclude="")


def _address(box: Box, path_to_root: str) -> str:
    return f"{path_to_root}pipeline/{box.page}.html"


def _draw_arrows() -> Iterator[Html]:
    """Yield the arrows between the boxes, with their labels."""
    head = markup('<path d="{}"/>', esc(_ARROWHEAD))
    marker = tag("marker", head, id="tclab-way-head", viewBox="-6 -5 7 10", orient="auto",
                 markerWidth="7", markerHeight="10", markerUnits="userSpaceOnUse")  # fmt: skip
    yield tag("defs", marker)
    for path in _ARROWS:
        yield markup('<path d="{}" marker-end="url(#tclab-way-head)"/>', esc(path))
    yield markup('<path d="{}" stroke-dasharray="3 3"/>', esc(_DASHED_LINES))
    for text, x, y in _ARROW_LABELS:
        yield tag("text", esc(text), x=x, y=y)


def _draw_box(box: Box, path_to_root: str) -> Html:
    """Return a box with a link to its chapter."""
    frame = markup(
        '<rect x="{}" y="{}" width="{}" height="{}" rx="4"/>', box.x, box.y, box.width, box.height
    )
    middle, line = box.x + box.width // 2, box.y + box.height // 2 + 4
    label = tag("text", esc(box.label), x=middle, y=line, text_anchor="middle")
    return tag("a", frame, label, href=_address(box, path_to_root))
