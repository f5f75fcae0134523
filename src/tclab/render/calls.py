"""Draw a call tree as SVG: one line for each function, from top to bottom.

A call is indented by its depth, so that the drawing fits phones and any number of functions. The
text does not shrink; on narrow screens the names hide the places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tclab.render.escape import Html, esc, markup, one_line, tag
from tclab.render.options import commit_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ROW, _STEP, _LEFT = 24, 13, 8  # pixels: a line, a level of calls, the margin
_SERIES = 6  # colours in tclab.css


@dataclass(frozen=True)
class CallNode:
    """A function in the tree. `caller` is the index of its caller; None for a root. `place` is
    where the function is defined, ``FILE:LINE``.
    """

    name: str
    caller: int | None
    stage: str
    place: str


def svg(calls: Sequence[CallNode], title: str, torch_commit: str = "") -> Html:
    """Return the drawing; each function links to its line in PyTorch's repository."""
    depths = _depths(calls)
    stages = list(dict.fromkeys(call.stage for call in calls))
    rows = [
        _draw_row(call, number, depths[number], stages.index(call.stage), torch_commit)
        for number, call in enumerate(calls)
    ]
    edges = tag("g", *_draw_edges(calls, depths), class_="tclab-edges", aria_hidden="true")
    return tag(
        "svg",
        edges,
        *rows,
        xmlns="http://www.w3.org/2000/svg",
        class_="tclab-calls",
        data_search_exclude="",  # the table below has the same words
        role="group",
        aria_label=one_line(f"{title}: {len(calls)} functions"),
        width="100%",
        height=str(len(calls) * _ROW + _LEFT),
    )


def _depths(calls: Sequence[CallNode]) -> list[int]:
    """Return the depth of each call. A caller comes before its callees."""
    depths: list[int] = []
    for call in calls:
        depths.append(0 if call.caller is None else depths[call.caller] + 1)
    return depths


def _x(depth: int) -> int:
    return _LEFT + depth * _STEP


def _y(number: int) -> int:
    return number * _ROW + _ROW // 2 + 2


def _draw_edges(calls: Sequence[CallNode], depths: Sequence[int]) -> Iterator[Html]:
    """Yield a line from each caller to each callee: down, then to the right."""
    for number, call in enumerate(calls):
        if call.caller is not None:
            x, y = _x(depths[call.caller]), _y(call.caller) + 5
            target_x, target_y = _x(depths[number]) - 5, _y(number)
            yield markup('<path d="M{} {}V{}H{}"/>', x, y, target_y, target_x)


def _draw_row(call: CallNode, number: int, depth: int, stage: int, torch_commit: str) -> Html:
    x, y = _x(depth), _y(number)
    path, _, line = call.place.rpartition(":")
    url = commit_url(torch_commit, path, int(line))
    colour = f"fill:var(--tclab-series-{stage % _SERIES})"
    stage_and_place = esc(f"{call.stage} · {call.place.rsplit('/', 1)[-1]}")
    elements = (
        tag("title", esc(f"{call.name}\n{call.place}\n{call.stage}")),
        markup('<circle cx="{}" cy="{}" r="5" style="{}"/>', x, y, esc(colour)),
        tag("text", esc(short_name(call.name)), x=x + 10, y=y + 4),
        tag("text", stage_and_place, x="100%", dx="-8", y=y + 4, class_="tclab-type"),
    )
    return tag("a" if url else "g", *elements, href=url or None)


def short_name(name: str) -> str:
    """Return class and method, or the function: ``OutputGraph.call_user_compiler``."""
    *_, parent, last = name.split(".")
    return f"{parent}.{last}" if parent[:1].isupper() else last
