"""Which stages are shown, how wide, and on a phone."""

from __future__ import annotations

from typing import Any

import pytest

from tclab.model import Chain
from tests.site.viewer.chains import LONG, SECOND, listing
from tests.site.viewer.page import Open, address, come_to_rest, in_view, lit, pin, remembers, shown

pytestmark = pytest.mark.browser


def test_stages_are_chosen(opened: Open) -> None:
    page = opened()
    assert shown(page) == ["python", "kernel", "ptx", "sass"]
    page.locator(".tclab-chooser").get_by_text("SASS").click()
    page.locator(".tclab-chooser").get_by_text("Dynamo").click()
    assert shown(page) == ["python", "dynamo", "kernel", "ptx"]
    pin(page, "python", 6)
    assert lit(page) == SECOND  # hidden stages too
    tops = page.locator(".tclab-column:not([hidden])").evaluate_all(
        "all => all.map((column) => column.getBoundingClientRect().top)"
    )
    assert len(set(tops)) == 1


def test_the_choice_of_stages_is_remembered(opened: Open) -> None:
    page = opened()
    page.locator(".tclab-chooser").get_by_text("SASS").click()
    chosen = shown(page)
    assert "sass" not in chosen
    page.goto(address(page).partition("?")[0])
    assert remembers(page, lambda: shown(page) == chosen)
    page.set_viewport_size({"width": 1000, "height": 900})  # room for fewer: its own choice
    page.goto(address(page).partition("?")[0])
    assert len(shown(page)) == 3


def widths(page: Any) -> dict[str, float]:
    columns = page.locator(".tclab-column:not([hidden])")
    found = columns.evaluate_all(
        "all => all.map((c) => [c.dataset.column, c.getBoundingClientRect().width])"
    )
    return dict(found)


def test_columns_are_as_wide_as_their_code_asks_for(opened: Open) -> None:
    panes = (listing("python", ["x = 1"], marks={1: ("p",)}), listing("kernel", ["y" * 70] * 9))
    found = widths(opened(Chain("W", "w", panes)))
    assert 2.2 < found["kernel"] / found["python"] < 2.6  # 72 to 30


def test_the_edge_between_two_columns_is_dragged(opened: Open) -> None:
    page = opened()
    before = widths(page)
    left, right = list(before)[:2]
    grip = page.locator(f"[data-column={left}] .tclab-grip")
    box = grip.bounding_box()
    assert box["width"] >= 24
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 100, box["y"] + 10, steps=4)
    page.mouse.up()
    after = widths(page)
    assert after[left] - before[left] == pytest.approx(100, abs=2)
    assert before[right] - after[right] == pytest.approx(100, abs=2)
    assert lit(page) == []
    grip.focus()
    page.keyboard.press("ArrowLeft")
    assert after[left] - widths(page)[left] == pytest.approx(24, abs=2)
    kept = widths(page)
    assert remembers(page, lambda: widths(page) == pytest.approx(kept, abs=1))


def test_on_a_phone_the_chosen_stage_comes_to_the_front(opened: Open) -> None:
    page = opened(viewport={"width": 390, "height": 844})
    assert shown(page) == ["python", "kernel"]
    page.locator(".tclab-chooser").get_by_text("SASS").click()
    assert shown(page) == ["python", "sass"]
    page.locator(".tclab-chooser").get_by_text("Python").click()
    assert shown(page) == ["python", "sass"]
    pin(page, "python", 6, position={"x": 120, "y": 5})
    assert in_view(page, "sass", LONG) and in_view(page, "python", 6)
    page.locator(".tclab-chooser").get_by_text("PTX").click()
    come_to_rest(page)
    assert in_view(page, "ptx", LONG - 1) and in_view(page, "python", 6)
    boxes = page.locator(".tclab-column:not([hidden])").evaluate_all(
        "all => all.map((c) => c.getBoundingClientRect().left)"
    )
    assert len(boxes) == 2 and len(set(boxes)) == 1
