"""The explorer's pages in a real Chromium: what a click lights is what the run's chain says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tclab.model import Chain
from tclab.render.closure import Index
from tclab.store.live import Store

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(p.stem for p in (ROOT / "docs" / "explorer").glob("*.md") if p.stem != "index")
MACHINE = {"ttir", "ttgir", "llir", "ptx", "sass"}

pytestmark = pytest.mark.browser

#: For each Python line clicked: its text, the stages lit, and for machine code that is lit,
#: clicked in turn, whether the Python line is lit again.
CLICK_ALL = """(last) => {
    const stages = () => new Set(Array.from(document.querySelectorAll(".linked"),
        (line) => line.closest(".tclab-pane").dataset.stage));
    const panes = document.querySelectorAll(".tclab-pane[data-stage=python] [data-line]");
    return Array.from(panes, (line) => {
        line.click();
        const lit = Array.from(stages()).sort();
        const below = `.tclab-pane[data-stage=${last}] .linked`;
        const ends = Array.from(document.querySelectorAll(below));
        const back = [ends[0], ends[ends.length - 1]].filter(Boolean).map((end) => {
            end.click();
            return end.classList.contains("linked") && line.classList.contains("linked");
        });
        return [lit, back];
    });
}"""


def chain_of(page: str) -> Chain:
    """The chain that a page shows, from the store."""
    text = (ROOT / "docs" / "explorer" / f"{page}.md").read_text(encoding="utf-8")
    name = re.search(r'show\("(explorer/\w+)"', text)
    assert name
    run = Store.of(ROOT).load(name[1])
    assert run
    (chain,) = (a for a in run.artifacts if isinstance(a, Chain))
    return chain


def expected(chain: Chain) -> list[list[str]]:
    """For each Python line, the stages a click must light."""
    index = Index.of(chain)
    lines = [
        index.starts[number] + offset
        for number, pane in enumerate(chain.panes) if pane.stage == "python"
        for offset in range(index.counts[number])
    ]  # fmt: skip
    return [sorted({chain.panes[index.pane(i)].stage for i in index.closure(x)}) for x in lines]


@pytest.fixture
def opened(tab: Any, address: str) -> Iterator[Any]:
    """Opens a page of the explorer; it must have had no error at the end."""
    pages: list[Any] = []

    def open_page(page: str, anchor: str = "", **options: Any) -> Any:
        pages.append(tab(**{"viewport": {"width": 1440, "height": 900}} | options))
        pages[-1].goto(f"{address}/explorer/{page}.html{anchor}", wait_until="load")
        return pages[-1]

    yield open_page
    assert [problem for page in pages for problem in page.problems] == []


def lit(tab: Any) -> list[str]:
    """Ids of all lines that are lit."""
    return tab.evaluate('Array.from(document.querySelectorAll(".linked"), (line) => line.id)')


def python_line(tab: Any, chain: Chain) -> Any:
    """The first Python line that reaches the last stage."""
    reach = [chain.panes[-1].stage in stages for stages in expected(chain)]
    return tab.locator(".tclab-pane[data-stage=python] [data-line]").nth(reach.index(True))


@pytest.mark.parametrize("page", PAGES)
def test_a_python_line_lights_every_stage_it_reaches_and_is_found_again(opened, page: str) -> None:
    chain = chain_of(page)
    last = chain.panes[-1].stage
    assert last in ("cpp", "asm", "sass")
    found = opened(page).evaluate(CLICK_ALL, last)
    assert [stages for stages, _ in found] == expected(chain)
    assert all(all(back) for _, back in found)
    through = {"kernel", *MACHINE} if last == "sass" else {"cpp", last}
    assert any(through <= set(stages) and back for stages, back in found)


@pytest.mark.parametrize("page", PAGES)
def test_pointing_moves_nothing_under_the_pointer(opened, page: str) -> None:
    tab = opened(page)
    line = python_line(tab, chain_of(page))
    before = line.bounding_box()
    line.hover()
    tab.wait_for_selector(".linked")
    assert line.bounding_box()["y"] == before["y"]
    line.click()
    assert "linked" in line.get_attribute("class")
    assert len(lit(tab)) > 1


@pytest.mark.parametrize("page", PAGES)
def test_the_keyboard_keeps_walks_and_lets_go(opened, page: str) -> None:
    tab = opened(page)
    python_line(tab, chain_of(page)).evaluate("line => { line.click(); line.click(); }")
    assert lit(tab) == []
    tab.keyboard.press("Enter")
    assert len(lit(tab)) > 1
    assert "#" in tab.url
    stages = []
    for _ in tab.locator(".tclab-column:not([hidden]) .tclab-pane").all():
        tab.keyboard.press("ArrowRight")
        stages += tab.evaluate("""() => {
            const line = document.activeElement;
            const linked = line.classList.contains("linked");
            return linked ? [line.closest(".tclab-pane").dataset.stage] : [];
        }""")
    assert {"kernel", "cpp"} & set(stages)
    tab.keyboard.press("Escape")
    assert lit(tab) == []
    assert "#" not in tab.url


@pytest.mark.parametrize("page", PAGES)
def test_an_address_of_an_instruction_opens_it(opened, page: str) -> None:
    chain = chain_of(page)
    stage = chain.panes[-1].stage
    tab = opened(page)
    python_line(tab, chain).evaluate("line => line.click()")
    tab.locator(f".tclab-pane[data-stage={stage}] .linked").last.evaluate("line => line.click()")
    chosen, count = tab.url.partition("#")[2], len(lit(tab))
    assert f"-{stage}" in chosen
    again = opened(page, f"#{chosen}")
    again.wait_for_selector(f".tclab-pane[data-stage={stage}] .linked")
    assert len(lit(again)) == count > 1
    assert "linked" in python_line(again, chain).get_attribute("class")


@pytest.mark.parametrize("page", PAGES)
def test_without_javascript_every_stage_is_there_to_read(opened, page: str) -> None:
    tab = opened(page, java_script_enabled=False)
    for pane in chain_of(page).panes:
        shown = tab.locator(f".tclab-pane[data-stage={pane.stage}] pre.tclab-lines")
        assert shown.count() > 0, pane.stage
    assert tab.locator(".tclab-chooser").is_hidden()
    last = tab.locator(".tclab-pane").last
    last.locator("summary").click()
    assert last.locator("pre.tclab-lines").is_visible()
