"""The viewer by keyboard alone."""

from __future__ import annotations

import pytest

from tests.chromium import until
from tests.site.viewer.chains import LONG
from tests.site.viewer.page import Open, address, come_into_window, focused, line, lit, shown

pytestmark = pytest.mark.browser


def test_the_keyboard_does_all(opened: Open) -> None:
    page = opened()
    line(page, "python", 5).focus()
    assert page.locator("t-l[tabindex='0']").count() == 1
    page.keyboard.press("ArrowDown")
    until(page, "document.querySelectorAll('.linked').length >= 4")
    page.keyboard.press("Enter")
    come_into_window(page)
    assert "python 6" in lit(page) and f"sass {LONG}" in lit(page)
    assert "Python, line 6. Linked lines:" in page.locator(".tclab-said").inner_text()
    page.keyboard.press("ArrowRight")  # to the first linked line of the next pane shown
    assert focused(page) == "kernel-2 2"
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    assert lit(page) == ["kernel-2 1"]
    page.keyboard.press("Escape")
    assert lit(page) == [] and "#" not in address(page)


def test_five_tabs_at_most_lead_into_the_viewer(opened: Open) -> None:
    page = opened()
    page.locator("h1").evaluate("title => { title.tabIndex = -1; title.focus(); }")
    for _ in range(5):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.localName") == "t-l":
            break
    assert focused(page) == "python 1"


def test_the_viewer_can_be_entered_at_once(opened: Open) -> None:
    page = opened()
    page.locator("h1").evaluate("title => { title.tabIndex = -1; title.focus(); }")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the code"
    page.keyboard.press("Enter")
    assert focused(page) == "python 1"


def test_arrows_go_through_the_stages_to_choose(opened: Open) -> None:
    page = opened()
    page.locator(".tclab-chooser input").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.value") == "dynamo"
    assert ("dynamo" in shown(page)) == page.evaluate("document.activeElement.checked")
