"""The chart of the roof: each dot says which function it is and opens that function's kernels."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tclab.workshop.bench.sizes import KERNELS

pytestmark = pytest.mark.browser

#: (link, tooltip) of each dot.
DOTS = """() => Array.from(document.querySelectorAll(".tclab-chart a.tclab-dot"),
    (a) => [a.getAttribute("href"), a.querySelector("title").textContent])"""


@pytest.fixture
def roof(tab, address: str):
    opened = tab(viewport={"width": 1280, "height": 900})
    opened.goto(f"{address}/benchmarks/roof.html", wait_until="load")
    return opened


def test_every_dot_leads_to_a_heading_that_is_there(roof, site: Path) -> None:
    dots = roof.evaluate(DOTS)
    assert len(dots) >= 30
    page = (site / "explorer/kernels.html").read_text(encoding="utf-8")
    for link, title in dots:
        path, _, anchor = link.partition("#")
        function = title.partition(",")[0].replace(" ", "_")
        assert (path, anchor) == ("../explorer/kernels.html", function.replace("_", "-"))
        assert function in KERNELS
        assert re.search(rf'<h2 id="{anchor}"', page), link


def test_a_click_on_a_dot_opens_its_kernels(roof) -> None:
    dot = roof.locator(".tclab-chart a.tclab-dot", has_text="gather").locator("circle")
    dot.scroll_into_view_if_needed()
    dot.hover()
    stroke, width = dot.evaluate("(c) => [getComputedStyle(c).stroke, c.getBBox().width]")
    assert stroke != "none" and width == 12
    dot.click()
    roof.wait_for_url("**/explorer/kernels.html#gather")
    assert roof.locator("h2:target").inner_text().startswith("Gather")
    assert roof.problems == []


def test_the_table_has_the_same_links_for_the_keyboard(roof) -> None:
    box = roof.locator("figure", has=roof.locator("a.tclab-dot")).locator("details")
    box.locator("summary").first.focus()
    roof.keyboard.press("Enter")
    links = box.locator("td:first-child a").evaluate_all("(all) => all.map((a) => a.href)")
    dots = [f"{urlsplit(link).path.removeprefix('..')}" for link, _ in roof.evaluate(DOTS)]
    assert [urlsplit(link).path for link in links] == dots
