"""A page on paper: what is wide has room there, and what cannot be pressed is not printed."""

from __future__ import annotations

import re
from typing import Any

import pytest

PAPER = {"width": 720, "height": 1018}  # what A4 leaves between its margins

#: Words of a table that were broken because their column is too narrow for them.
BROKEN = """() => {
    const text = document.createRange();
    const lines = (cell) => { text.selectNodeContents(cell); return text.getClientRects().length; };
    return Array.from(document.querySelectorAll(".tclab-entries td:not(:has(*))"))
        .filter((cell) => /^\\w{2,12}$/.test(cell.textContent) && lines(cell) > 1)
        .map((cell) => cell.textContent);
}"""


@pytest.mark.browser
@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("page", ["explorer/relu", "reference/settings", "labs/lab4_code"])
def test_nothing_is_wider_than_the_paper(tab, address: str, page: str, scripts: bool) -> None:
    opened = tab(viewport=PAPER, java_script_enabled=scripts)
    opened.emulate_media(media="print")
    opened.goto(f"{address}/{page}.html", wait_until="load")
    assert opened.evaluate("document.documentElement.scrollWidth") <= PAPER["width"]


@pytest.mark.browser
def test_an_entry_is_a_paragraph_with_whole_words(tab, address: str) -> None:
    opened = tab(viewport=PAPER, java_script_enabled=False)
    opened.emulate_media(media="print")
    opened.goto(f"{address}/reference/settings.html", wait_until="load")
    assert opened.evaluate("document.querySelectorAll('.tclab-entries td').length") > 1000
    assert opened.evaluate(BROKEN) == []
    row = opened.locator("#dynamo-_autograd_backward_strict_mode_banned_ops")
    assert row.bounding_box()["height"] < 60  # a line or two


@pytest.mark.browser
def test_buttons_that_copy_are_not_printed(tab, address: str) -> None:
    opened = tab(viewport=PAPER)
    opened.goto(f"{address}/labs/lab4_code.html", wait_until="load")
    buttons = opened.locator(".tclab-lab .md-code__button, .tclab-lab .md-clipboard")
    buttons.first.wait_for()
    opened.emulate_media(media="print")
    assert buttons.count() > 0
    assert not any(button.is_visible() for button in buttons.all())


def sheets(page: Any) -> int:
    return len(re.findall(rb"/Type /Page\b", page.pdf(format="A4")))


@pytest.mark.browser
def test_no_sheet_is_left_half_empty_before_a_listing(tab, address: str) -> None:
    opened = tab(viewport=PAPER)
    opened.goto(f"{address}/pipeline/guards.html", wait_until="load")
    printed = sheets(opened)
    opened.add_style_tag(content="* { break-inside: auto !important }")
    assert 10 < printed <= sheets(opened) + 1
