"""Lines wrapped, hidden and explained; what is looked for among them."""

from __future__ import annotations

from typing import Any

import pytest

from tclab.model import Chain
from tests.site.viewer.chains import listing, many, real
from tests.site.viewer.page import Open, come_to_rest, found, in_view, line, pin, remembers

pytestmark = pytest.mark.browser


def test_long_lines_wrap_if_asked(opened: Open) -> None:
    panes = (listing("python", ["x = 1"]), listing("kernel", ["short", "y" * 900, "last"]))
    page = opened(Chain("W", "w", panes))
    scroller = page.locator("[data-column=kernel] .tclab-scroller")
    sideways = "box => box.scrollWidth - box.clientWidth"
    assert scroller.evaluate(sideways) > 1000
    page.locator("[data-do=wrap]").click()
    assert scroller.evaluate(sideways) == 0
    heights = page.locator("#c-kernel t-l").evaluate_all(
        "all => all.map((line) => line.getBoundingClientRect().height)"
    )
    assert heights[1] > 3 * heights[0] == 3 * heights[2]
    button = page.locator("[data-do=wrap]")
    assert remembers(page, lambda: button.get_attribute("aria-pressed") == "true")
    assert scroller.evaluate(sideways) == 0


def visible(page: Any, pane: str) -> list[str]:
    """Return the texts of a pane's lines that are not hidden."""
    return page.locator(f"#c-{pane} t-l").evaluate_all("""all => all
        .filter((line) => line.getBoundingClientRect().height > 2)
        .map((line) => line.textContent.trim().replace(/\\s+/g, " ").slice(0, 60))""")


def test_directives_are_hidden_until_all_lines_are_asked_for(opened: Open) -> None:
    page = opened(real())
    assert visible(page, "sass") == [
        "/*0000*/ MUFU.EX2 R1, R2 ;", "/*0010*/ @!P0 XYZZY.128 R4, [R2] ;"
    ]  # fmt: skip
    assert not [text for text in visible(page, "forward") if "# File" in text]
    numbers = line(page, "sass", 3).evaluate("line => getComputedStyle(line, '::before').content")
    page.locator("[data-do=all]").click()
    assert len(visible(page, "sass")) == 5
    assert [text for text in visible(page, "forward") if "# File" in text]
    assert numbers == "counter(tclab-line)"


def test_a_hidden_line_that_is_asked_for_shows_all(opened: Open) -> None:
    page = opened(real(), anchor="#c-sass-L5")
    page.wait_for_selector("[data-all]")
    come_to_rest(page)
    assert in_view(page, "sass", 5)


def test_types_are_short_and_whole_on_hover(opened: Open) -> None:
    page = opened(real())
    kind = page.locator("#c-forward .tclab-type")
    assert kind.bounding_box()["width"] < 12
    assert "torch.ops.aten.add.Tensor" in line(page, "forward", 4).inner_text()
    kind.hover()
    tip = page.locator(".tclab-tip")
    assert tip.inner_text() == '"f32[2048, 768][768, 1]cuda:0"'
    page.locator("[data-do=all]").click()
    assert kind.bounding_box()["width"] > 100


def test_an_instruction_tells_what_it_does_or_nothing(opened: Open) -> None:
    page = opened(real())
    page.wait_for_selector("#c-sass .tclab-op")
    page.locator("#c-sass .tclab-op").nth(0).hover()
    tip = page.locator(".tclab-tip")
    assert "special function unit" in tip.inner_text() and ".EX2: two to the" in tip.inner_text()
    page.locator("#c-sass .tclab-op").nth(1).hover()
    assert tip.is_hidden()
    pin(page, "sass", 3)
    assert "special function unit" in page.locator(".tclab-said").inner_text()


def test_find_in_a_pane(opened: Open) -> None:
    page = opened(many(400))
    column = page.locator("[data-column=kernel]")
    column.locator("[data-do=find]").click()
    page.keyboard.type("TMP3 ")
    found(page, "kernel", "–/2")  # tmp3 = …, … = tmp3 + 1
    assert page.locator(".tclab-match").count() >= 2
    page.keyboard.press("Enter")
    found(page, "kernel", "1/2")
    column.locator("input").fill("tmp39")
    found(page, "kernel", "–/12")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+Enter")
    assert in_view(page, "kernel", 40)
    column.locator(".tclab-ruler .tclab-match").first.wait_for()
    page.keyboard.press("Escape")
    assert page.locator("t-l.tclab-match").count() == 0 and column.locator("input").is_hidden()
    line(page, "kernel", 40).focus()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"


def test_find_does_not_find_what_is_hidden(opened: Open) -> None:
    page = opened(real())
    column = page.locator("[data-column=sass]")
    column.locator("[data-do=find]").click()
    page.keyboard.type("nop")
    found(page, "sass", "–/0")
    page.locator("[data-do=all]").click()
    column.locator("input").fill("nop;")
    page.wait_for_selector("#c-sass .tclab-match")
