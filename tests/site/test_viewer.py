"""The viewer of a chain, in a real Chromium, on a page that stands alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tclab import render
from tclab.render import standalone
from tclab.model import Chain, Kernel, Listing

pytestmark = pytest.mark.browser

#: Lines of the machine code, of which the last two have origins.
LONG = 400


def listing(stage: str, lines: list[str], **more: Any) -> Listing:
    return Listing(f"The {stage}", stage, "\n".join(lines) + "\n", "text", stage, **more)


def chain(machine_lines: int = LONG) -> Chain:
    """Two Python lines: the first ends in kernel 1, the second in kernel 2, PTX and SASS."""
    code = [f"nop {i}" for i in range(1, machine_lines + 1)]
    last = machine_lines
    return Chain(
        "A chain", "chain",
        (
            listing("python", ["y = x + 1", "z = y * 2", "pass"], first_line=5,
                    marks={1: ("py:1",), 2: ("py:2",)}),
            listing("dynamo", ["add", "mul", "return"], links={1: ("py:1",), 2: ("py:2",)},
                    marks={1: ("fx:add",), 2: ("fx:mul",)}),
            Kernel("Kernel 0", "k0", "tmp1 = tmp0 + 1\n", "python", "kernel",
                   links={1: ("fx:add",)}, facts={"registers": "16"}),
            Kernel("Kernel 1", "k1", "load\ntmp1 = tmp0 * 2\nstore\n", "python", "kernel",
                   links={2: ("fx:mul",)}, marks={2: ("k:2",)}),
            listing("ptx", code, links={last: ("k:2",), last - 1: ("k:2",)},
                    marks={last: ("ptx",)}),
            listing("sass", code, links={last: ("ptx",)}),
        ), "0/0",
    )  # fmt: skip


Open = Callable[..., Any]


@pytest.fixture
def opened(tab: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens a report with a chain; its page must have had no error and no request at the end."""
    pages: list[Any] = []
    path = tmp_path / "report.html"

    def open_report(shown: Chain | None = None, anchor: str = "", **options: Any) -> Any:
        body = render.figure(shown or chain(), prefix="c")
        path.write_text(standalone.page("A report", body), encoding="utf-8")
        pages.append(tab(**{"viewport": {"width": 1500, "height": 900}} | options))
        pages[-1].goto(path.as_uri() + anchor)
        return pages[-1]

    yield open_report
    assert [problem for page in pages for problem in page.problems] == []
    asked = [url for page in pages for url in page.asked]
    assert [url for url in asked if not url.startswith(path.as_uri())] == []


def lit(page: Any) -> list[str]:
    """Ids of panes with the numbers of their linked lines."""
    return page.evaluate("""() => Array.from(document.querySelectorAll(".linked"), (line) =>
        line.closest(".tclab-pane").id.slice(2) + " " + line.dataset.line)""")


def line(page: Any, pane: str, number: int) -> Any:
    return page.locator(f"#c-{pane} [data-line='{number}']")


def in_view(page: Any, pane: str, number: int) -> bool:
    """Whether a line is within its column and the window."""
    return page.evaluate(
        """([pane, number]) => {
        const line = document.querySelector(`#c-${pane} [data-line="${number}"]`);
        const at = line.getBoundingClientRect();
        const box = line.closest(".tclab-column").getBoundingClientRect();
        return at.height > 0 && at.top >= box.top && at.bottom <= Math.min(box.bottom, innerHeight);
    }""",
        [pane, number],
    )


SECOND = [
    "python 6", "dynamo 2", "kernel-2 2", f"ptx {LONG - 1}", f"ptx {LONG}", f"sass {LONG}",
]  # fmt: skip


def test_a_click_on_python_lights_every_stage_it_reaches(opened: Open) -> None:
    page = opened()
    line(page, "python", 6).click()
    assert lit(page) == SECOND
    assert page.locator(".tclab-chain.dimmed").count() == 1
    for pane, number in (("kernel-2", 2), ("sass", LONG)):
        assert in_view(page, pane, number)
    line(page, "python", 6).click()
    assert lit(page) == [] and page.locator(".dimmed").count() == 0


def test_the_last_stage_leads_back(opened: Open) -> None:
    page = opened()
    page.locator("#c-sass").evaluate("pane => pane.closest('section').scrollTop = 1e6")
    line(page, "sass", LONG).click()
    assert lit(page) == [each for each in SECOND if each != f"ptx {LONG - 1}"]  # no sibling
    assert in_view(page, "sass", LONG) and in_view(page, "python", 6)


def test_pointing_previews_until_a_line_is_pinned(opened: Open) -> None:
    page = opened()
    line(page, "python", 5).hover()
    page.wait_for_selector(".linked")
    assert lit(page) == ["python 5", "dynamo 1", "kernel 1"]
    assert page.locator(".dimmed").count() == 0
    page.locator("h1").hover()
    page.wait_for_selector(".linked", state="detached")
    line(page, "python", 6).click()
    line(page, "python", 5).hover()
    page.wait_for_timeout(100)
    assert lit(page) == SECOND


def test_the_keyboard_does_all(opened: Open) -> None:
    page = opened()
    page.locator(".tclab-chooser input").last.focus()
    page.keyboard.press("Tab")  # to the pane's summary
    page.keyboard.press("Tab")  # to the only line that can be reached by Tab
    assert page.evaluate("document.activeElement.dataset.line") == "5"
    assert page.locator("[data-line][tabindex='0']").count() == 1
    page.keyboard.press("ArrowDown")
    page.wait_for_function("document.querySelectorAll('.linked').length === 6")
    page.keyboard.press("Enter")
    assert lit(page) == SECOND
    assert "Python, line 6. Linked lines:" in page.locator(".tclab-said").inner_text()
    page.keyboard.press("ArrowRight")  # to the first linked line of the next pane shown
    assert page.evaluate("document.activeElement.closest('.tclab-pane').id") == "c-kernel-2"
    assert page.evaluate("document.activeElement.dataset.line") == "2"
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    assert lit(page) == ["kernel-2 1"]
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.closest('.tclab-pane').id") == "c-python"
    page.keyboard.press("Escape")
    assert lit(page) == [] and "#" not in page.url


def test_a_link_to_a_line_selects_it(opened: Open) -> None:
    page = opened(anchor="#c-kernel-2-L2")
    page.wait_for_selector(".linked")
    assert lit(page) == SECOND and in_view(page, "kernel-2", 2)
    page.goto(page.url.partition("#")[0] + f"#c-ptx-L{LONG}")  # a stage not shown at first
    page.wait_for_selector(f"#c-ptx [data-line='{LONG}'].linked")
    assert lit(page) == [each for each in SECOND if each != f"ptx {LONG - 1}"]
    assert in_view(page, "ptx", LONG)
    line(page, "python", 5).click()
    assert page.url.endswith("#c-python-L5")


@pytest.mark.parametrize("anchor", ["#c-ptx-L999999", "#nothing-L1", "#c-ptx-L0", "#%F0", "#c-ptx"])
def test_a_link_to_no_line_does_no_harm(opened: Open, anchor: str) -> None:
    page = opened(anchor=anchor)
    line(page, "python", 6).click()
    assert lit(page) == SECOND


def test_stages_are_chosen(opened: Open) -> None:
    page = opened()
    shown = ".tclab-column:not([hidden])"
    assert page.locator(shown).count() == 4
    page.locator(".tclab-chooser").get_by_text("PTX").click()
    page.locator(".tclab-chooser").get_by_text("Dynamo").click()
    stages = page.locator(shown).evaluate_all("all => all.map((c) => c.dataset.column)")
    assert stages == ["python", "dynamo", "kernel", "sass"]
    line(page, "python", 6).click()
    assert lit(page) == SECOND  # hidden stages too
    tops = page.locator(shown).evaluate_all("all => all.map((c) => c.getBoundingClientRect().top)")
    assert len(set(tops)) == 1


def test_the_choice_of_stages_is_remembered(opened: Open) -> None:
    page = opened()
    shown = ".tclab-column:not([hidden])"
    page.locator(".tclab-chooser").get_by_text("Dynamo").click()
    page.locator(".tclab-chooser").get_by_text("SASS").click()
    stages = page.locator(shown).evaluate_all("all => all.map((c) => c.dataset.column)")
    assert "dynamo" in stages and "sass" not in stages
    page.reload()
    again = page.locator(shown).evaluate_all("all => all.map((c) => c.dataset.column)")
    assert again == stages
    page.set_viewport_size({"width": 1000, "height": 900})  # room for fewer: its own choice
    page.reload()
    narrow = page.locator(shown).evaluate_all("all => all.map((c) => c.dataset.column)")
    assert len(narrow) == 3


def test_a_line_without_links_says_so(opened: Open) -> None:
    def said(number: int) -> str:
        line(page, "kernel-2", number).click()
        chosen = f"#c-kernel-2 [data-line='{number}']"
        return page.evaluate(
            "at => getComputedStyle(document.querySelector(at), '::after').content", chosen
        )

    page = opened()
    assert "no link is known" in said(1)
    assert said(2) == "none"


def test_machine_code_without_markup_gets_its_lines(opened: Open) -> None:
    page = opened(chain(6000))
    line(page, "python", 6).click()
    assert lit(page)[-1] == "sass 6000" and in_view(page, "sass", 6000)
    assert page.locator("#c-sass [data-line]").count() == 6000
    assert line(page, "sass", 17).inner_text().strip() == "nop 17"


@pytest.mark.parametrize("lines", [LONG, 6000])
def test_without_javascript_all_can_be_read(opened: Open, lines: int) -> None:
    page = opened(chain(lines), java_script_enabled=False)
    summaries = page.locator(".tclab-pane:not([open]) > summary")
    for _ in range(summaries.count()):
        summaries.first.click()
    for stage in ("python", "dynamo", "kernel", "ptx", "sass"):
        assert page.locator(f"[data-stage={stage}] pre.tclab-lines").first.is_visible()
    assert "tmp1 = tmp0 * 2" in page.locator("#c-kernel-2").inner_text()
    assert "dynamo:2" in page.locator("#c-kernel-2").inner_text()
    assert f"nop {lines}" in page.locator("#c-sass").inner_text()
    assert page.locator(".tclab-chooser").is_hidden()


def test_a_phone_shows_stages_one_under_the_other(opened: Open) -> None:
    page = opened(viewport={"width": 390, "height": 844})
    line(page, "python", 6).click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    boxes = page.locator(".tclab-column:not([hidden])").evaluate_all(
        "all => all.map((c) => c.getBoundingClientRect().left)"
    )
    assert len(boxes) == 2 and len(set(boxes)) == 1


def test_the_page_finds_what_the_chain_says(opened: Open) -> None:
    """Every line of a chain, clicked by script, lights what `Index.closure` has."""
    from tclab.render.closure import Index

    shown = chain(20)
    index = Index.of(shown)
    page = opened(shown)
    found = page.evaluate("""() => {
        const lines = Array.from(document.querySelectorAll("[data-line]"));
        return lines.map((line) => {
            line.click();
            return lines.flatMap((other, i) => other.classList.contains("linked") ? [i] : []);
        });
    }""")
    assert found == [sorted(index.closure(i)) for i in range(sum(index.counts))]
