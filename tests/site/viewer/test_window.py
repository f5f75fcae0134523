"""The viewer in the window: what scrolls, and what comes into sight."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chromium import comes
from tests.site.viewer.chains import real
from tests.site.viewer.page import BY_WIDTH, Open, come_to_rest, line, pin, shown

pytestmark = pytest.mark.browser


def positions(page: Any, pane: Any) -> list[float]:
    """Return how far the page is scrolled, and a pane."""
    return [page.evaluate("scrollY"), pane.evaluate("box => box.scrollTop")]


def wheel(page: Any, pane: Any, by: int) -> float:
    """Return how far the page went when the wheel was turned over a pane: the rest of the way the
    pane.
    """
    before, box = positions(page, pane), pane.bounding_box()
    page.mouse.move(box["x"] + 50, min(box["y"] + 60, 800))
    page.mouse.wheel(0, by)
    assert comes(lambda: sum(positions(page, pane)) - sum(before) == by)
    return page.evaluate("scrollY") - before[0]


def test_the_page_scrolls_where_a_pane_cannot(opened: Open) -> None:
    page = opened()
    page.locator(".tclab-chain").scroll_into_view_if_needed()
    python = page.locator("[data-column=python] .tclab-scroller")
    sass = page.locator("[data-column=sass] .tclab-scroller")
    assert wheel(page, python, 200) == 200  # all of it is in sight
    assert wheel(page, python, -200) == -200
    sass.evaluate("box => box.scrollTop = 0")
    assert wheel(page, sass, 200) == 200  # the reader is not in the viewer
    assert wheel(page, sass, -200) == -200
    page.locator("[data-column=sass] [data-do=find]").click()
    assert wheel(page, sass, 200) == 0 and sass.evaluate("box => box.scrollTop") == 200
    sass.evaluate("box => box.scrollTop = 1e6")
    assert wheel(page, sass, 200) == 200  # at its end


def swipe(page: Any, pane: Any, by: int) -> float:
    """Return how far the page went when a finger moved up over a pane and one of the two
    scrolled.
    """
    box, before = pane.bounding_box(), positions(page, pane)
    x, y = box["x"] + 100, box["y"] + box["height"] - 20
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *points: dict[str, float]) -> None:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    touch("touchStart", {"x": x, "y": y})
    for step in range(1, 11):
        touch("touchMove", {"x": x, "y": y - by * step / 10})
    touch("touchEnd")
    assert comes(lambda: sum(positions(page, pane)) - sum(before) > 100)
    come_to_rest(page)
    return page.evaluate("scrollY") - before[0]


def test_a_finger_moves_the_page_where_a_pane_cannot(opened: Open) -> None:
    page = opened(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.locator(".tclab-chain").evaluate("chain => chain.scrollIntoView()")
    assert swipe(page, page.locator("[data-column=python] .tclab-scroller"), 150) > 100
    page.locator(".tclab-chain").evaluate("chain => chain.scrollIntoView()")
    sass = page.locator("[data-column=sass] .tclab-scroller")
    page.evaluate("history.replaceState(null, '', '?stages=python.sass')")
    page.reload()
    page.locator(".tclab-chain").evaluate("chain => chain.scrollIntoView()")
    sass.evaluate("box => box.scrollTop = 0")
    assert swipe(page, sass, 150) > 100  # the reader is not in the viewer
    page.locator(".tclab-chain").evaluate("chain => chain.scrollIntoView()")
    page.locator(".tclab-chooser").get_by_text("SASS").tap()
    sass.evaluate("box => box.scrollTop = 0")
    assert swipe(page, sass, 150) == 0 and sass.evaluate("box => box.scrollTop") > 100


@BY_WIDTH
def test_the_viewer_is_as_tall_as_the_window_at_most(opened: Open, size: dict[str, int]) -> None:
    page = opened(viewport=size)
    assert page.locator(".tclab-chain").bounding_box()["height"] <= size["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    short = opened(real(), viewport=size)  # of a few lines: no taller than they need
    assert short.locator(".tclab-chain").bounding_box()["height"] <= min(size["height"], 430)


@BY_WIDTH
def test_the_first_click_brings_what_it_lights_into_sight(
    opened: Open, size: dict[str, int]
) -> None:
    page = opened(viewport=size)
    line(page, "python", 6).scroll_into_view_if_needed()
    pin(page, "python", 6, position={"x": 120, "y": 5})
    box = page.locator(".tclab-chain").bounding_box()
    assert box["y"] >= -1 and box["y"] + box["height"] <= size["height"] + 1
    for stage in shown(page):
        linked = page.locator(f"[data-column={stage}] .linked").first
        assert linked.evaluate("""(line) => {
            const at = line.getBoundingClientRect();
            return at.top >= 0 && at.bottom <= innerHeight;
        }"""), stage
