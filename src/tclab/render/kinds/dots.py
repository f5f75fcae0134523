"""The named points of a chart: pointed at, each says what it is; opened, it leads to its page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tclab.render.escape import Html, esc, join, one_line, tag
from tclab.render.kinds import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tclab.model import Chart
    from tclab.render.options import Options

#: How far around a dot it can be pointed at, in the drawing's units: more than what is drawn, but
#: not nearer to another dot. Dots closer than this share a circle, each has its sector of it.
_RADIUS, _ONE_PLACE = 6.0, 2.0


def name(artifact: Chart, i: int) -> str:
    """What the points of the i-th x are; '' where nothing says so."""
    return one_line(artifact.names[i]) if artifact.names else ""


def href(artifact: Chart, i: int, options: Options) -> str:
    """From the page to the place of the site that opens them; '' where the way is not known."""
    place = artifact.links[i] if artifact.links else ""
    if not place or options.root is None:
        return ""
    path, mark, fragment = place.partition("#")
    if path.endswith(".md"):
        path = path.removesuffix(".md") + ".html"
    return options.root + path + mark + fragment


@dataclass(frozen=True)
class Dot:
    """A named point: where it was drawn, what it says and where it leads."""

    x: float
    y: float
    title: str
    url: str

    def to(self, other: Dot) -> float:
        """How far away the other is."""
        return math.hypot(self.x - other.x, self.y - other.y)


def marks(artifact: Chart, xs: list[float], axes: Any, options: Options) -> Html:
    """What is pointed at, over each named point of what was drawn on Matplotlib's `axes`.

    A tap or a pointer finds it. Tab does not stop there: the table below has the same links.
    """
    places = _places(list(_dots(artifact, xs, axes, options)))
    drawn = []
    for place in places:
        others = (place[0].to(other[0]) / 2 for other in places if other is not place)
        radius = min(_RADIUS, *others)
        shapes = [_sector(place[0], radius, i, len(place)) for i in range(len(place))]
        drawn += [_element(dot, shape) for dot, shape in zip(place, shapes, strict=True)]
    return join(drawn)


def _dots(artifact: Chart, xs: list[float], axes: Any, options: Options) -> Iterator[Dot]:
    height = axes.figure.bbox.height
    for ys in artifact.series.values():
        for i, y in enumerate(ys):
            if y is not None and (label := name(artifact, i)):
                x, up = axes.transData.transform((xs[i], float(y)))
                title = one_line(f"{label}: {table.cell(y)} {artifact.y_label}")
                yield Dot(x, height - up, title, href(artifact, i, options))


def _places(dots: list[Dot]) -> list[list[Dot]]:
    """The dots, those together that are drawn in one place."""
    places: list[list[Dot]] = []
    for dot in dots:
        near = (place for place in places if place[0].to(dot) < _ONE_PLACE)
        same = next(near, None)
        if same is None:
            places.append([dot])
        else:
            same.append(dot)
    return places


def _sector(dot: Dot, radius: float, i: int, count: int) -> Html:
    """The i-th of `count` equal parts of a circle around the dot."""
    if count == 1:
        return tag("circle", cx=f"{dot.x:.2f}", cy=f"{dot.y:.2f}", r=f"{radius:.2f}")
    angles = (2 * math.pi * (n / count - 0.25) for n in (i, i + 1))
    begin, end = (
        f"{dot.x + radius * math.cos(a):.2f} {dot.y + radius * math.sin(a):.2f}" for a in angles
    )
    arc = f"A{radius:.2f} {radius:.2f} 0 0 1 {end}"
    return tag("path", d=f"M{dot.x:.2f} {dot.y:.2f}L{begin}{arc}z")


def _element(dot: Dot, shape: Html) -> Html:
    inner = tag("title", esc(dot.title)), shape
    if not dot.url:
        return tag("g", *inner, class_="tclab-dot")
    return tag("a", *inner, class_="tclab-dot", href=dot.url, tabindex="-1")


def linked(artifact: Chart, options: Options) -> list[Html]:
    """The names as cells of a table, in order: HTML, '' for none."""
    cells = []
    for i in range(len(artifact.x)):
        label, url = esc(name(artifact, i)), href(artifact, i, options)
        cells.append(tag("a", label, href=url) if label and url else label)
    return cells
