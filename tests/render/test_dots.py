"""The named points of a chart: what they say, where they lead, that they lie on what is drawn."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from artifacts_by_hand import BARS, CHART
from read_html import Page

from tclab import render
from tclab.model import Chart
from tclab.render.kinds import chart
from tclab.render.options import Options

PLACES = ("", "", "explorer/softmax.md", "explorer/kernels.md#gather")
ROOF = Chart(
    "Roof", "roof", (1.0, 2.0, 4.0, 4.0),
    {"copy": (1.0, 2.0, None, None), "kernel": (None, None, 0.5, 1.0)}, "MB", "TB/s",
    log_x=True, names=("", "", "softmax <1>", "gather"), links=PLACES,
)  # fmt: skip
SVG = "{http://www.w3.org/2000/svg}"


def picture(artifact: Chart, root: str | None) -> ET.Element:
    return ET.fromstring(chart.draw_svg(artifact, Options(prefix="r", root=root)))


def leading(html: str) -> list[str]:
    """Return the links that leave the page."""
    return [link for link in Page(html).links if not link.startswith("#")]


def dots(root: ET.Element) -> list[ET.Element]:
    return [e for e in root.iter() if e.get("class") == "tclab-dot"]


def test_a_dot_says_its_name_and_value():
    titles = [e.findtext(f"{SVG}title") for e in dots(picture(ROOF, None))]
    assert titles == ["softmax <1>: 0.5 TB/s", "gather: 1 TB/s"]


@pytest.mark.parametrize("root", ["", "../", "../../"])
def test_a_dot_leads_to_its_page_by_the_way_to_the_root(root):
    drawn = picture(ROOF, root)
    assert [e.tag for e in dots(drawn)] == [f"{SVG}a"] * 2
    links = [e.get("href") for e in dots(drawn)]
    assert links == [f"{root}explorer/softmax.html", f"{root}explorer/kernels.html#gather"]
    assert {e.get("tabindex") for e in dots(drawn)} == {"-1"}
    assert drawn.get("role") == "group"  # what is in an image is told to nobody


def test_without_a_way_to_the_root_nothing_is_linked():
    drawn = picture(ROOF, None)
    assert {e.tag for e in dots(drawn)} == {f"{SVG}g"} and drawn.get("role") == "img"
    assert not leading(render.figure(ROOF, options=Options("r")))
    assert "href" not in render.text(ROOF)


def test_a_dot_lies_on_the_mark_that_is_drawn():
    drawn = picture(ROOF, "../")
    circles = [e.find(f"{SVG}circle") for e in dots(drawn)]
    marks = {
        (round(float(e.get("x")), 2), round(float(e.get("y")), 2))
        for e in drawn.iter(f"{SVG}use")
        if "--tclab-series-1" in (e.get("style") or "")
    }
    assert {(float(c.get("cx")), float(c.get("cy"))) for c in circles} == marks
    assert len(marks) == 2


def test_no_dot_covers_another():
    """The nearer one is pointed at; of two in one place each has a half."""
    near = replace(ROOF, series={"kernel": (0.5, 0.52, 1.0, 1.0)}, names=tuple("abcd"))
    near = replace(near, x=(4.0, 4.0, 8.0, 8.0))
    first, second, left, right = (list(e)[1] for e in dots(picture(near, "../")))
    apart = abs(float(first.get("cy")) - float(second.get("cy")))
    assert float(first.get("r")) == float(second.get("r")) == pytest.approx(apart / 2, abs=0.01)
    assert 2 < float(first.get("r")) < 6
    centre, halves = re.match(r"M[\d.]+ [\d.]+", left.get("d"))[0], {left.get("d"), right.get("d")}
    assert len(halves) == 2 and all(half.startswith(centre) for half in halves)


def test_a_line_joins_what_has_no_name():
    lines = re.findall(
        r'<path d="[^"]*" clip-path[^>]*series-(\d)', chart.draw_svg(ROOF, Options())
    )
    assert lines == ["0"]


def test_ids_are_unique_and_two_drawings_are_the_same():
    first = render.figure(ROOF, options=Options("r", root="../"))
    assert first == render.figure(ROOF, options=Options("r", root="../"))
    ids = Page(first).ids
    assert len(set(ids)) == len(ids)


def test_the_table_has_the_names_and_the_same_links():
    shown = render.figure(ROOF, options=Options("r", root="../"))
    table = shown[shown.index("<table") : shown.index("</table>")] + "</table>"
    assert leading(table) == ["../explorer/softmax.html", "../explorer/kernels.html#gather"]
    assert "softmax <1>" in Page(table).text
    assert "softmax <1>" in render.text(ROOF)
    assert "name" in render.text(ROOF).splitlines()[1]


def test_names_without_links_are_said():
    shown = render.figure(replace(ROOF, links=()), options=Options("r", root="../"))
    assert not leading(shown) and shown.count('class="tclab-dot"') == 2 * 2  # drawn for phones, too


@pytest.mark.parametrize("artifact", [CHART, BARS], ids=["lines", "bars"])
def test_a_chart_without_names_is_what_it_was(artifact):
    shown = render.figure(artifact, options=Options("c", root="../"))
    assert shown == render.figure(artifact, options=Options("c"))
    assert "tclab-dot" not in shown and 'role="img"' in shown
