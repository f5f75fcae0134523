"""What stands in the panes before anything is clicked, and what is copied from them."""

from __future__ import annotations

from typing import Any

import pytest

from tclab.model import Chain
from tests.chromium import comes, until
from tests.site.viewer.chains import TRITON, chain, kernels, listing, real
from tests.site.viewer.page import (
    BY_WIDTH,
    IN_VIEW,
    Open,
    address,
    come_to_rest,
    in_view,
    line,
    lit,
    pin,
)

pytestmark = pytest.mark.browser

PYTHON = """() => {
    const box = document.querySelector("[data-column=python] .tclab-scroller");
    const all = document.querySelector(".tclab-columns").clientWidth;
    const column = document.querySelector("[data-column=python]").clientWidth;
    return [box.scrollWidth - box.clientWidth, column / all];
}"""


@pytest.mark.parametrize("characters", [20, 60])
def test_the_reader_s_longest_line_has_room(opened: Open, characters: int) -> None:
    """Beside three panes that ask for more."""
    python = listing("python", ["x = 1", "y" * characters], marks={2: ("p",)})
    wide = [listing(stage, ["z" * 90] * 9) for stage in ("kernel", "ptx", "sass")]
    page = opened(Chain("W", "w", (python, *wide)))
    hidden, share = page.evaluate(PYTHON)
    assert hidden == 0 and share <= 0.41


def test_no_line_takes_more_than_two_fifths(opened: Open) -> None:
    python = listing("python", ["y" * 300])
    wide = [listing(stage, ["z" * 90] * 9) for stage in ("kernel", "ptx", "sass")]
    hidden, share = opened(Chain("W", "w", (python, *wide))).evaluate(PYTHON)
    assert hidden > 0 and 0.38 < share <= 0.41


def test_what_the_reader_dragged_is_what_it_gets(opened: Open) -> None:
    python = listing("python", ["y" * 60])
    wide = [listing(stage, ["z" * 90] * 9) for stage in ("kernel", "ptx", "sass")]
    page = opened(Chain("W", "w", (python, *wide)))
    before = page.locator("[data-column=python]").bounding_box()["width"]
    page.locator("[data-column=python] .tclab-grip").focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    after = page.locator("[data-column=python]").bounding_box()["width"]
    assert before - after == pytest.approx(5 * 24, abs=3)


def test_a_link_to_a_line_stands_in_the_gutter(opened: Open) -> None:
    page = opened()
    for pane, number in (("python", 6), ("kernel-2", 2)):
        pin(page, pane, number)
        own = line(page, pane, number)
        button = own.locator(".tclab-link").bounding_box()
        start = own.evaluate("""(own) => {
            const text = Array.from(own.childNodes).find((node) =>
                node.nodeName !== "BUTTON" && node.textContent.trim());
            const range = document.createRange();
            range.selectNodeContents(text);
            return range.getBoundingClientRect().left;
        }""")
        assert button["x"] + button["width"] <= start
        page.keyboard.press("Escape")


def test_of_a_kernel_the_computation_is_shown_until_all_lines_are(opened: Open) -> None:
    page = opened(kernels(1))
    seen = page.locator("#c-kernel t-l").evaluate_all(
        "all => all.flatMap((line, i) => line.getBoundingClientRect().height > 2 ? [i + 1] : [])"
    )
    assert seen == [9, 13, 14, 15]
    page.locator("[data-do=all]").click()
    assert line(page, "kernel", 5).bounding_box()["height"] > 2


def test_sizes_stand_in_graphs(opened: Open) -> None:
    page = opened(real())
    kind = line(page, "forward", 4)
    short = kind.locator(".tclab-type")
    assert short.bounding_box()["width"] < 12
    assert short.text_content() == "[768, 1]cuda:0"  # the sizes are not in what is short


def in_sight(page: Any, where: str) -> bool:
    return page.locator(where).first.evaluate(IN_VIEW)


@BY_WIDTH
def test_each_pane_shows_its_first_coloured_line(opened: Open, size: dict[str, int]) -> None:
    page = opened(kernels(), viewport=size)
    page.locator(".tclab-chain").evaluate("chain => chain.scrollIntoView()")
    page.wait_for_selector("#c-kernel t-l[style]", state="attached")
    for stage in page.locator(".tclab-column:not([hidden])").evaluate_all(
        "all => all.map((column) => column.dataset.column)"
    ):
        first = f"[data-column={stage}] t-l[style]:not(.tclab-noise)"
        assert comes(lambda where=first: in_sight(page, where)), stage


def test_lines_that_are_lit_and_hidden_are_shown(opened: Open) -> None:
    """An instruction of index arithmetic leads to the line of the kernel, which is hidden."""
    page = opened(kernels())
    page.locator("[data-column=sass] .tclab-scroller").evaluate("box => box.scrollTop = 0")
    pin(page, "sass", 1)
    assert "kernel 12" in lit(page)
    assert in_view(page, "kernel", 12)
    page.keyboard.press("Escape")
    assert line(page, "kernel", 12).bounding_box()["height"] < 2


def test_a_link_to_a_kernel_opens_its_own_instructions(opened: Open) -> None:
    page = opened(kernels(), anchor="#c-kernel-3")
    page.wait_for_selector("#c-sass-3[open] .linked")
    open_panes = page.locator(".tclab-pane[data-stage=sass][open]")
    assert open_panes.evaluate_all("all => all.map((pane) => pane.id)") == ["c-sass-3"]
    assert {"python 3", "kernel-3 14", "sass-3 61"} <= set(lit(page))
    assert in_view(page, "sass-3", 61)


# ------------------------------------------------------------------------------- copying

CLIPBOARD = ["clipboard-read", "clipboard-write"]


def copied(page: Any) -> str:
    page.wait_for_selector(".tclab-copier[data-said=copied]")
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def test_a_kernel_is_copied_whole(opened: Open) -> None:
    page = opened(kernels(), permissions=CLIPBOARD)
    before = address(page)
    page.locator("#c-kernel-2 > summary").click()  # whatever was open
    page.locator("#c-kernel-2").evaluate("pane => { pane.open = true; }")
    page.locator("#c-kernel-2 > .tclab-copier").click()
    assert copied(page) == TRITON
    assert lit(page) == [] and address(page) == before


def test_a_stage_is_copied_though_it_has_not_come_yet(opened: Open) -> None:
    page = opened(permissions=CLIPBOARD)
    page.locator("[data-column=sass] .tclab-head [data-do=take]").click()
    sass = chain().panes[-1]
    assert copied(page) == sass.code


def test_all_panes_of_a_stage_are_copied(opened: Open) -> None:
    page = opened(kernels(), permissions=CLIPBOARD)
    page.locator("[data-column=kernel] .tclab-head [data-do=take]").click()
    assert copied(page) == "\n".join([TRITON] * 3)


# --------------------------------------------------------------------------------- phone


def test_on_a_phone_boxes_are_whole_and_fade_where_they_go_on(opened: Open) -> None:
    page = opened(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    row = page.locator(".tclab-chooser")
    row.evaluate("row => { row.style.cssText = 'flex: none; width: 180px'; }")
    page.locator(".tclab-chooser").get_by_text("PTX").click()
    until(page, "Boolean(document.querySelector('.tclab-chooser[data-before][data-after]'))")
    left = row.bounding_box()["x"]
    box = page.locator(".tclab-chooser label", has_text="PTX").bounding_box()
    assert box["x"] >= left and box["x"] + box["width"] <= left + 180
    row.evaluate("row => { row.scrollLeft = 0; }")
    until(page, "!document.querySelector('.tclab-chooser[data-before]')")


def test_lines_are_high_enough_for_a_finger(opened: Open) -> None:
    page = opened(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    come_to_rest(page)
    assert line(page, "python", 5).bounding_box()["height"] >= 24
    desk = opened()
    assert line(desk, "python", 5).bounding_box()["height"] < 20
