"""Keys, the wheel and Back: what is the viewer's, and what is the page's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chromium import comes, until
from tests.site.viewer.chains import SECOND
from tests.site.viewer.page import Open, address, come_to_rest, counts, line, lit, pin

pytestmark = pytest.mark.browser

#: What the site's theme does: it listens at the window, whatever became of the key before.
THEME = """addEventListener("keydown", ({ key }) => {
    if ("n.p,".includes(key)) window.gone = (window.gone || "") + key;
});"""


def gone(page: Any) -> str:
    return page.evaluate("window.gone || ''")


@pytest.mark.parametrize("focus", ["a line", "a button", "All lines", "nothing"])
def test_n_and_p_go_to_linked_lines_and_nowhere_else(opened: Open, focus: str) -> None:
    page = opened(script=THEME)
    pin(page, "python", 6)
    if focus == "a line":
        line(page, "kernel-2", 2).focus()
    elif focus == "a button":
        page.locator("[data-column=kernel] [data-do=find]").focus()
    elif focus == "All lines":
        page.locator("[data-do=all]").click()
    else:
        page.evaluate("document.activeElement.blur()")
    for key in "npnp":
        page.keyboard.press(key)
    assert gone(page) == "" and lit(page) == SECOND


def test_after_a_link_to_a_line_keys_are_the_viewer_s(opened: Open) -> None:
    page = opened(anchor="#c-kernel-2-L2", script=THEME)
    page.wait_for_selector("#c-kernel-2 .linked")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("n")
    counts(page, "1/1")
    assert gone(page) == ""
    page.keyboard.press("Escape")
    assert lit(page) == [] and "#" not in address(page)


def test_who_types_types(opened: Open) -> None:
    """In a field of the page the keys are the field's."""
    page = opened(edit=lambda html: html.replace("<h1>", "<input id=field><h1>"))
    pin(page, "python", 6)
    page.locator("#field").focus()
    page.keyboard.type("nope")
    page.keyboard.press("Escape")
    assert page.locator("#field").input_value() == "nope" and lit(page) == SECOND


def test_back_undoes_a_click(opened: Open) -> None:
    """Over file://, too: every one of these pages is opened so."""
    page = opened()
    pin(page, "python", 5)
    first = address(page)
    pin(page, "python", 6)
    page.go_back()
    until(page, "document.querySelectorAll('#c-kernel .linked').length === 1")
    assert address(page) == first and "python 5" in lit(page) and "python 6" not in lit(page)
    page.go_back()
    until(page, "!document.querySelector('.linked')")
    assert "#" not in address(page)
    page.go_forward()
    until(page, "Boolean(document.querySelector('#c-kernel .linked'))")


def test_a_page_that_is_opened_is_one_step(opened: Open) -> None:
    page = opened(anchor="#c-kernel-2-L2")
    page.wait_for_selector("#c-kernel-2 .linked")
    steps = page.evaluate("history.length")
    page.locator(".tclab-chooser").get_by_text("Dynamo").click()
    assert page.evaluate("history.length") == steps


def test_the_wheel_is_the_page_s_until_the_reader_is_in_the_viewer(opened: Open) -> None:
    page = opened()
    come_to_rest(page)  # what is laid out while nothing else is to do scrolls its parts
    sass = page.locator("[data-column=sass] .tclab-scroller")
    sass.evaluate("box => box.scrollTop = 0")
    box = sass.bounding_box()
    page.mouse.move(box["x"] + 50, box["y"] + 60)
    for notch in range(1, 4):
        page.mouse.wheel(0, 120)
        assert comes(lambda n=notch: page.evaluate("scrollY") == 120 * n)
    assert sass.evaluate("box => box.scrollTop") == 0
    page.evaluate("scrollTo(0, 0)")
    come_to_rest(page)
    pin(page, "python", 6)
    page.mouse.move(box["x"] + 50, sass.bounding_box()["y"] + 60)
    before = sass.evaluate("box => box.scrollTop")
    page.mouse.wheel(0, -120)
    assert comes(lambda: sass.evaluate("box => box.scrollTop") == before - 120)
    page.keyboard.press("Escape")  # lets go of the wheel, too
    page.mouse.wheel(0, 120)
    assert comes(lambda: page.evaluate("scrollY") > 0)
    assert sass.evaluate("box => box.scrollTop") == before - 120
