"""From one linked line to the next: to the middle, beside the scrollbar, by button and key."""

from __future__ import annotations

import pytest

from tclab.model import Chain
from tests.site.viewer.chains import listing, many
from tests.site.viewer.page import (
    Open,
    address,
    come_into_window,
    come_to_rest,
    counts,
    in_view,
    line,
    lit,
    pin,
)

pytestmark = pytest.mark.browser


def test_linked_lines_come_to_the_middle_of_every_pane(opened: Open) -> None:
    page = opened(many(900))
    page.locator("[data-column=kernel] .tclab-scroller").evaluate("box => box.scrollTop = 4000")
    pin(page, "kernel", 300)
    pin(page, "python", 1)  # away from where the kernel stands
    page.locator("[data-column=kernel] .tclab-scroller").evaluate("box => box.scrollTop = 9000")
    page.keyboard.press("Escape")
    pin(page, "python", 1)
    off = line(page, "kernel", 3).evaluate("""(line) => {
        const box = line.closest(".tclab-scroller").getBoundingClientRect();
        const at = line.getBoundingClientRect();
        return [at.top - box.top, line.closest(".tclab-scroller").scrollTop];
    }""")
    assert 0 <= off[0] <= 120 and off[1] == 0  # the third line of all: as near as can be
    page.keyboard.press("Escape")
    page.goto(address(page).partition("?")[0].partition("#")[0] + "#c-kernel-L450")
    page.wait_for_selector("#c-kernel .linked")
    come_into_window(page)
    middle = line(page, "kernel", 450).evaluate("""(line) => {
        const box = line.closest(".tclab-scroller").getBoundingClientRect();
        const at = line.getBoundingClientRect();
        return (at.top + at.bottom - box.top - box.bottom) / 2;
    }""")
    assert abs(middle) <= 20


MARKS = """(lines) => {
    const column = document.querySelector("[data-column=kernel]");
    const ruler = column.querySelector(".tclab-ruler").getBoundingClientRect();
    const marks = Array.from(column.querySelectorAll(".tclab-ruler > i"), (mark) => {
        const at = mark.getBoundingClientRect();
        return [(at.top - ruler.top) / ruler.height, at.height / ruler.height];
    });
    const scroller = column.querySelector(".tclab-scroller");
    const top = scroller.getBoundingClientRect().top - scroller.scrollTop;
    const spots = Array.from(column.querySelectorAll(".linked"), (line) =>
        (line.getBoundingClientRect().top - top) / scroller.scrollHeight);
    return [marks, spots];
}"""


@pytest.mark.parametrize("switch", ["", "wrap", "all"])
def test_marks_beside_the_scrollbar_say_where_linked_lines_are(opened: Open, switch: str) -> None:
    links = dict.fromkeys((3, 4, 200, 390), ("py",))
    code = ["# File: noise"] * 100 + [f"x{n} = " + "y" * (n % 300) for n in range(300)]
    panes = (listing("python", ["f(x)"], marks={1: ("py",)}), listing("kernel", code, links=links))
    page = opened(Chain("Marks", "m", panes))
    if switch:
        page.locator(f"[data-do={switch}]").click()
    pin(page, "python", 1)
    marks, spots = page.evaluate(MARKS, [])
    assert len(marks) == 3  # lines 3 and 4 are one mark
    for spot in spots:
        assert any(at - 0.01 <= spot <= at + high + 0.01 for at, high in marks), (spot, marks)
    ruler = page.locator("[data-column=kernel] .tclab-ruler").bounding_box()
    page.mouse.click(ruler["x"] + 5, ruler["y"] + marks[2][0] * ruler["height"] + 1)
    come_to_rest(page)
    assert in_view(page, "kernel", 390)


def test_from_one_linked_line_to_the_next(opened: Open) -> None:
    page = opened(many(90))
    pin(page, "python", 1)
    assert in_view(page, "kernel", 3)
    column = page.locator("[data-column=kernel]")
    counts(page, "1/30")
    column.locator("[data-do=next]").click()
    counts(page, "2/30")
    come_to_rest(page)
    assert line(page, "kernel", 6).get_attribute("tabindex") == "0"
    column.locator("[data-do=previous]").click()
    column.locator("[data-do=previous]").click()
    counts(page, "30/30")  # round at the ends
    come_to_rest(page)
    assert in_view(page, "kernel", 90)
    line(page, "kernel", 90).focus()
    page.keyboard.press("n")
    counts(page, "1/30")
    line(page, "kernel", 3).focus()
    page.keyboard.press("p")
    counts(page, "30/30")
    assert "python 1" in lit(page)  # going on keeps the selection


def test_the_next_group_skips_lines_without_a_gap(opened: Open) -> None:
    links = dict.fromkeys((3, 4, 5, 20, 21), ("py",))
    kernel = listing("kernel", ["x"] * 30, links=links)
    page = opened(Chain("G", "g", (listing("python", ["f"], marks={1: ("py",)}), kernel)))
    pin(page, "python", 1)
    page.locator("[data-column=kernel] [data-do=next]").click()
    counts(page, "2/5")
    line(page, "kernel", 4).focus()
    page.keyboard.press("Shift+N")
    counts(page, "4/5")
