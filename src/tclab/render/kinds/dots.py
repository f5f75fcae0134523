"""Draw hot spots over the named points of a chart, each with a tooltip and a link to a page."""

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

#: The radius of a dot's hot spot in the drawing's units: it is larger than the drawn dot, and at
#: most half the distance to the next dot. Dots closer than _SAME_PLACE get a sector each of one
#: circle.
_RADIUS, _SAME_PLACE = 6.0, 2.0


def point_name(artifact: Chart, index: int) -> str:
    """Return the name of the points at x position `index`; '' if the chart does not name them."""
    return one_line(artifact.names[index]) if artifact.names else ""


def point_url(artifact: Chart, index: int, options: Options) -> str:
    """Return the address to which the points at x position `index` link, relative to the page.
    Return '' if the points have no link, or if the page is not part of a site.
    """
    place = artifact.links[index] if artifact.links else ""
    if not place or options.root is None:
        return ""
    path, hash_sign, fragment = place.partition("#")
    if path.endswith(".md"):
        path = path.removesuffix(".md") + ".html"
    return options.root + path + hash_sign + fragment


@dataclass(frozen=True)
class Dot:
    """A named point: its position in the drawing, its tooltip and its link."""

    x: float
    y: float
    title: str
    url: str

    def distance_to(self, other: Dot) -> float:
        """Return the distance to another dot, in the drawing's units."""
        return math.hypot(self.x - other.x, self.y - other.y)


def draw_dots(artifact: Chart, xs: list[float], axes: Any, options: Options) -> Html:
    """Return a hot spot for each named point drawn on Matplotlib's `axes`.

    A hot spot reacts to mouse and touch. The Tab key skips the hot spots, because the table below
    has the same links.
    """
    groups = _group_dots(list(_make_dots(artifact, xs, axes, options)))
    elements = []
    for group in groups:
        half_distances = (
            group[0].distance_to(other[0]) / 2 for other in groups if other is not group
        )
        radius = min(_RADIUS, *half_distances)
        shapes = [_draw_sector(group[0], radius, index, len(group)) for index in range(len(group))]
        elements += [_draw_element(dot, shape) for dot, shape in zip(group, shapes, strict=True)]
    return join(elements)


def _make_dots(artifact: Chart, xs: list[float], axes: Any, options: Options) -> Iterator[Dot]:
    height = axes.figure.bbox.height
    for ys in artifact.series.values():
        for index, y in enumerate(ys):
            if y is not None and (label := point_name(artifact, index)):
                x, y_pixels = axes.transData.transform((xs[index], float(y)))
                title = one_line(f"{label}: {table.cell_text(y)} {artifact.y_label}")
                yield Dot(x, height - y_pixels, title, point_url(artifact, index, options))


def _group_dots(dots: list[Dot]) -> list[list[Dot]]:
    """Group the dots that are drawn in the same place."""
    groups: list[list[Dot]] = []
    for dot in dots:
        near_groups = (group for group in groups if group[0].distance_to(dot) < _SAME_PLACE)
        nearest = next(near_groups, None)
        if nearest is None:
            groups.append([dot])
        else:
            nearest.append(dot)
    return groups


def _draw_sector(dot: Dot, radius: float, index: int, count: int) -> Html:
    """Draw sector number `index` of `count` equal sectors of a circle around the dot."""
    if count == 1:
        return tag("circle", cx=f"{dot.x:.2f}", cy=f"{dot.y:.2f}", r=f"{radius:.2f}")
    angles = (2 * math.pi * (n / count - 0.25) for n in (index, index + 1))
    begin, end = (
        f"{dot.x + radius * math.cos(a):.2f} {dot.y + radius * math.sin(a):.2f}" for a in angles
    )
    arc = f"A{radius:.2f} {radius:.2f} 0 0 1 {end}"
    return tag("path", d=f"M{dot.x:.2f} {dot.y:.2f}L{begin}{arc}z")


def _draw_element(dot: Dot, shape: Html) -> Html:
    content = tag("title", esc(dot.title)), shape
    if not dot.url:
        return tag("g", *content, class_="tclab-dot")
    return tag("a", *content, class_="tclab-dot", href=dot.url, tabindex="-1")


def linked_names(artifact: Chart, options: Options) -> list[Html]:
    """Return the name of each x as an HTML cell, linked if it has an address; '' without a name."""
    cells = []
    for index in range(len(artifact.x)):
        label, url = esc(point_name(artifact, index)), point_url(artifact, index, options)
        cells.append(tag("a", label, href=url) if label and url else label)
    return cells
