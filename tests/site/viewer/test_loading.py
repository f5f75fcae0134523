"""How the viewer loads: large kernels, old browsers, no storage, no scripts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tclab.model import Chain
from tests.chromium import at_rest, until
from tests.site.viewer.chains import LONG, SECOND, chain, many
from tests.site.viewer.page import BY_WIDTH, SIZES, Open, counts, in_view, line, lit, pin, shown

pytestmark = pytest.mark.browser


SHIFTS = """
    window.shifted = 0;
    new PerformanceObserver((list) => {
        for (const e of list.getEntries()) if (!e.hadRecentInput) window.shifted += e.value;
    }).observe({type: "layout-shift", buffered: true});
"""


@BY_WIDTH
def test_nothing_moves_while_the_page_loads(opened: Open, size: dict[str, int]) -> None:
    page = opened(many(3000), viewport=size, script=SHIFTS)
    until(page, "Boolean(document.querySelector('t-l[style]'))")  # the last that comes: colours
    at_rest(page)
    assert page.evaluate("window.shifted") <= 0.02


def test_a_kernel_of_5000_lines_is_laid_out_as_far_as_it_is_seen(opened: Open) -> None:
    page = opened(many(5000))
    pin(page, "python", 1)
    assert len(lit(page)) == 1 + 5000 // 3
    chunks = page.locator("#c-kernel t-c")
    assert chunks.count() == 100
    skipped = chunks.evaluate_all("""all => all.filter((chunk) =>
        !chunk.firstChild.checkVisibility({contentVisibilityAuto: true})).length""")
    assert skipped > 60
    page.locator("[data-column=kernel] [data-do=previous]").click()
    counts(page, "1666/1666")
    assert in_view(page, "kernel", 4998)


def test_a_browser_without_content_visibility_shows_the_same(opened: Open) -> None:
    def without(html: str) -> str:
        return html.replace("content-visibility:", "x-a:").replace("contain-intrinsic-size", "x-b")

    page = opened(many(1200), edit=without)
    pin(page, "python", 1)
    page.locator("[data-column=kernel] [data-do=previous]").click()
    counts(page, "400/400")
    assert in_view(page, "kernel", 1200) and len(lit(page)) == 401


def test_storage_may_be_switched_off(opened: Open) -> None:
    off = """Object.defineProperty(window, "localStorage", {
        get() { throw new DOMException("forbidden", "SecurityError"); } });"""
    page = opened(script=off)
    page.locator(".tclab-chooser").get_by_text("Dynamo").click()
    page.locator("[data-do=wrap]").click()
    pin(page, "python", 6)
    assert "dynamo" in shown(page) and lit(page) == SECOND


def test_a_title_of_200_characters_pushes_nothing(opened: Open) -> None:
    long = "A title of many words " * 10
    panes = tuple(replace(pane, title=long, filename=long) for pane in chain().panes)
    for size in SIZES:
        page = opened(Chain(long, "chain", panes), viewport=size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        for head in page.locator(".tclab-column:not([hidden]) .tclab-head").all():
            assert head.bounding_box()["height"] < 40


def test_machine_code_without_markup_gets_its_lines(opened: Open) -> None:
    page = opened(chain(6000))
    pin(page, "python", 6)
    assert lit(page)[-1] == "sass 6000" and in_view(page, "sass", 6000)
    assert page.locator("#c-sass t-l").count() == 6000
    assert line(page, "sass", 17).text_content() == "mad 17\n"


@pytest.mark.parametrize("lines", [LONG, 6000])
def test_without_javascript_all_can_be_read(opened: Open, lines: int) -> None:
    page = opened(chain(lines), java_script_enabled=False)
    summaries = page.locator(".tclab-pane:not([open]) > summary")
    for _ in range(summaries.count()):
        summaries.first.click()
    for stage in ("python", "dynamo", "kernel", "ptx", "sass"):
        assert page.locator(f"[data-stage={stage}] pre.tclab-lines").first.is_visible()
    assert "tmp1 = tmp0 * 2" in page.locator("#c-kernel-2").text_content()
    assert "dynamo:2" in page.locator("#c-kernel-2").text_content()
    assert f"mad {lines}" in page.locator("#c-sass").text_content()
    assert page.locator(".tclab-tools").is_hidden()
    assert page.locator(".tclab-head").first.is_hidden()
