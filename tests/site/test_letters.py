"""The letters: their sizes, their typeface, and how much room a heading and a first screen take."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.chromium import at_rest

pytestmark = pytest.mark.browser

DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
#: Pages of each kind.
PAGES = (
    *("index", "first-steps", "pipeline/guards", "pipeline/inductor", "pipeline/triton"),
    *("practice/faster", "beliefs/the-call", "benchmarks/models", "reference/settings"),
    *("reference/glossary", "labs/lab4_code", "changes/2.14", "explorer/relu"),
)

#: Of the words of a page outside of viewers and drawings: size in px → letters.
SIZES = """() => {
    const sizes = {};
    const words = document.createTreeWalker(
        document.querySelector(".md-content"), NodeFilter.SHOW_TEXT);
    for (let node; (node = words.nextNode());) {
        const e = node.parentElement;
        if (!node.data.trim() || e.closest("noscript, script, style, svg, .tclab-chain")) continue;
        const size = Math.round(parseFloat(getComputedStyle(e).fontSize) * 100) / 100;
        sizes[size] = (sizes[size] || 0) + node.data.trim().length;
    }
    return sizes;
}"""


def opened(tab: Any, url: str, viewport: dict[str, int] = DESKTOP) -> Any:
    page = tab(viewport=viewport)
    page.goto(url, wait_until="load")
    at_rest(page)
    return page


def test_the_pages_have_eight_sizes_of_letters(tab: Any, address: str) -> None:
    letters: Counter[str] = Counter()
    page = tab(viewport=DESKTOP)
    for name in PAGES:
        page.goto(f"{address}/{name}.html", wait_until="load")
        letters.update(page.evaluate(SIZES))
    assert sorted(map(float, letters)) == [12, 13, 14, 16, 18, 20, 25, 32], letters


def test_the_typeface_comes_with_the_site_and_its_licence(
    tab: Any, address: str, site: Path
) -> None:
    page = opened(tab, f"{address}/pipeline/guards.html")
    faces = page.evaluate("[...document.fonts].map((f) => [f.family, f.status, f.display])")
    assert faces == [["Inter", "loaded", "optional"]]
    assert "Inter" in page.evaluate("getComputedStyle(document.querySelector('h1')).fontFamily")
    assert "SIL OPEN FONT LICENSE" in (site / "assets/fonts/inter-license.txt").read_text()
    assert page.problems == []


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", ["practice/upgrading", "reference/guards", "pipeline/guards"])
def test_a_link_to_a_heading_takes_no_line(
    tab: Any, address: str, name: str, viewport: dict[str, int]
) -> None:
    page = opened(tab, f"{address}/{name}.html", viewport)
    taller = page.evaluate("""() => Array.from(
        document.querySelectorAll(".md-content :is(h1, h2, h3):has(> .headerlink)"), (heading) => {
            const before = heading.offsetHeight;
            heading.querySelector(".headerlink").remove();
            return [heading.textContent, before - heading.offsetHeight];
        }).filter((each) => each[1] !== 0)""")
    assert taller == []


@pytest.mark.parametrize("name", ["practice/upgrading", "pipeline/dynamo", "first-steps"])
def test_a_phone_s_first_screen_begins_with_the_title(tab: Any, address: str, name: str) -> None:
    page = opened(tab, f"{address}/{name}.html", PHONE)
    header, title, box, path = page.evaluate("""() => [".md-header", "h1", ".tclab-switch",
        ".md-path"].map((name) => document.querySelector(`:is(.md-header, .md-content) ${name},
        ${name}.md-header`).getBoundingClientRect().toJSON())""")
    assert title["top"] - header["bottom"] < 60
    assert box["bottom"] <= title["top"] + 2 and path["right"] <= box["left"]


@pytest.mark.parametrize("name", ["roof", "models", "systems", "pays"])
def test_a_chart_leaves_room_for_its_sentence(tab: Any, address: str, name: str) -> None:
    page = opened(tab, f"{address}/benchmarks/{name}.html")
    heights = page.evaluate("""() => Array.from(document.querySelectorAll(".tclab-chart"))
        .filter((chart) => chart.checkVisibility()).map((chart) => chart.clientHeight)""")
    assert heights and max(heights) <= 320
