"""Who calls whom as a drawing: a tree from top to bottom, a line a function, drawn as SVG.

Depth is distance from the left, so that it is as legible on a phone as on a wide screen, and of any
number of functions. The letters keep their size; where there is no room, places give way to names.
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
class Called:
    """A function, its caller's number in the list (None: nobody named), its stage, its place."""

    name: str
    caller: int | None
    stage: str
    at: str


def svg(calls: Sequence[Called], title: str, torch_git: str = "") -> Html:
    """The drawing; each function leads to its line in PyTorch's repository."""
    depths = _depths(calls)
    stages = list(dict.fromkeys(call.stage for call in calls))
    rows = [
        _row(call, number, depths[number], stages.index(call.stage), torch_git)
        for number, call in enumerate(calls)
    ]
    edges = tag("g", *_edges(calls, depths), class_="tclab-edges", aria_hidden="true")
    return tag(
        "svg",
        edges,
        *rows,
        xmlns="http://www.w3.org/2000/svg",
        class_="tclab-calls",
        data_search_exclude="",  # its words are in the table below it
        role="group",
        aria_label=one_line(f"{title}: {len(calls)} functions"),
        width="100%",
        height=str(len(calls) * _ROW + _LEFT),
    )


def _depths(calls: Sequence[Called]) -> list[int]:
    """How many named functions are above each; a caller stands above whom it calls."""
    depths: list[int] = []
    for call in calls:
        depths.append(0 if call.caller is None else depths[call.caller] + 1)
    return depths


def _x(depth: int) -> int:
    return _LEFT + depth * _STEP


def _y(number: int) -> int:
    return number * _ROW + _ROW // 2 + 2


def _edges(calls: Sequence[Called], depths: Sequence[int]) -> Iterator[Html]:
    """From each caller down and to the right."""
    for number, call in enumerate(calls):
        if call.caller is not None:
            x, y = _x(depths[call.caller]), _y(call.caller) + 5
            to_x, to_y = _x(depths[number]) - 5, _y(number)
            yield markup('<path d="M{} {}V{}H{}"/>', x, y, to_y, to_x)


def _row(call: Called, number: int, depth: int, stage: int, git: str) -> Html:
    x, y = _x(depth), _y(number)
    path, _, line = call.at.rpartition(":")
    url = commit_url(git, path, int(line))
    colour = f"fill:var(--tclab-series-{stage % _SERIES})"
    stage_and_place = esc(f"{call.stage} · {call.at.rsplit('/', 1)[-1]}")
    drawn = (
        tag("title", esc(f"{call.name}\n{call.at}\n{call.stage}")),
        markup('<circle cx="{}" cy="{}" r="5" style="{}"/>', x, y, esc(colour)),
        tag("text", esc(short(call.name)), x=x + 10, y=y + 4),
        tag("text", stage_and_place, x="100%", dx="-8", y=y + 4, class_="tclab-type"),
    )
    return tag("a" if url else "g", *drawn, href=url or None)


def short(name: str) -> str:
    """The class and the method, or the function: ``OutputGraph.call_user_compiler``."""
    *_, before, last = name.split(".")
    return f"{before}.{last}" if before[:1].isupper() else last
