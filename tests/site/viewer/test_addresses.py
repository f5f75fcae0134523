"""Addresses of lines and stages, and links that are copied."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chromium import until
from tests.site.viewer.chains import LONG, SECOND
from tests.site.viewer.page import (
    BY_WIDTH,
    SIZES,
    Open,
    address,
    come_into_window,
    in_view,
    line,
    lit,
    pin,
    shown,
)

pytestmark = pytest.mark.browser


@BY_WIDTH
@pytest.mark.parametrize(("pane", "number"), [("kernel-2", 2), ("ptx", LONG), ("dynamo", 2)])
def test_a_link_to_a_line_lands_on_it(
    opened: Open, size: dict[str, int], pane: str, number: int
) -> None:
    page = opened(anchor=f"#c-{pane}-L{number}", viewport=size)
    page.wait_for_selector(f"#c-{pane} .linked")
    come_into_window(page)
    assert f"{pane} {number}" in lit(page) and in_view(page, pane, number)
    box = page.locator(".tclab-chain").bounding_box()
    assert box["y"] >= -1 and box["y"] + box["height"] <= size["height"] + 1


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: str(size["width"]))
def test_the_stages_are_in_the_address(opened: Open, size: dict[str, int]) -> None:
    page = opened(anchor="?stages=python.dynamo.ptx#c-ptx-L400", viewport=size)
    page.wait_for_selector("#c-ptx .linked")
    assert shown(page) == ["python", "dynamo", "ptx"]
    page.locator(".tclab-chooser").get_by_text("SASS").click()
    assert "?stages=python.dynamo.ptx.sass#c-ptx-L400" in address(page)
    pin(page, "python", 6)
    assert address(page).endswith("?stages=python.dynamo.ptx.sass#c-python-L6")
    again = opened(anchor="?" + address(page).partition("?")[2], viewport=size)
    assert shown(again) == ["python", "dynamo", "ptx", "sass"] and lit(again) == SECOND
    again.keyboard.press("Escape")
    assert "#" not in address(again)


@pytest.mark.parametrize(
    "anchor",
    ["#c-ptx-L999999", "#nothing-L1", "#c-ptx-L0", "#%F0", "#c-ptx", "?stages=&x=%F0#",
     "?stages=nothing.at.all#c-python-L6", "?stages=nothing.python&h=term"],
)  # fmt: skip
def test_an_address_of_nothing_does_no_harm(opened: Open, anchor: str) -> None:
    page = opened(anchor=anchor)
    assert "python" in shown(page)
    page.keyboard.press("Escape")
    pin(page, "python", 5)
    assert {"python 5", "dynamo 1", "kernel 1"} == set(lit(page))


def test_a_line_s_link_is_copied(opened: Open, browser: Any) -> None:
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    pin(page, "python", 6)
    page.locator(".tclab-link").click()
    page.wait_for_selector(".tclab-link[data-said=copied]")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == address(page) and link.endswith("#c-python-L6") and "?stages=python." in link
    assert lit(page)  # the click was for the button
    line(page, "python", 6).focus()
    page.evaluate("navigator.clipboard.writeText('')")
    page.keyboard.press("c")
    until(page, "navigator.clipboard.readText().then((text) => text.includes('#c-'))")


def test_where_copying_is_forbidden_the_button_says_so(opened: Open) -> None:
    forbid = """navigator.clipboard.writeText = () => Promise.reject();
        document.execCommand = () => false;"""
    page = opened(script=forbid)
    pin(page, "python", 6)
    page.locator(".tclab-link").click()
    page.wait_for_selector(".tclab-link[data-said='the address has it']")
