"""The explorer's pages in a real Chromium: what a click lights is what the run's chain says."""

from __future__ import annotations

import functools
import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tclab.model import Chain
from tclab.render.closure import Index
from tclab.site.store.local_runs import Store
from tests.chromium import at_rest, comes
from tests.site.conftest import in_turn
from tests.site.viewer.page import IN_VIEW

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = ("index", "kernels")  # have no function of their own that is opened stage by stage
FOUND = sorted(p.stem for p in (ROOT / "docs" / "explorer").glob("*.md"))
PAGES = [stem for stem in FOUND if stem not in WITHOUT]
#: The smallest, the largest and one for a CPU: in how they take a hand and keys, all are alike.
SOME = ("relu", "transformer-block", "softmax-cpu")
#: All, and in each width a third of them.
WIDTHS = [
    (width, page)
    for way, width in enumerate((1440, 1100, 390))
    for page in in_turn([f"explorer/{stem}.html" for stem in FOUND], 3, way)
]
MACHINE = {"ttir", "ttgir", "llir", "ptx", "sass"}
LINES = ".tclab-pane[data-stage=python] t-l"
#: Code of a pane that is shown, and that has no lines yet.
COMING = ".tclab-column:not([hidden]) .tclab-pane[open] :is(.tclab-away, .tclab-bare)"

pytestmark = pytest.mark.browser

#: For each Python line clicked: the stages lit, and for machine code that is lit, clicked in turn,
#: whether the Python line is lit again.
CLICK_ALL = """(last) => {
    const stages = () => new Set(Array.from(document.querySelectorAll(".linked"),
        (line) => line.closest(".tclab-pane").dataset.stage));
    const panes = document.querySelectorAll(".tclab-pane[data-stage=python] t-l");
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

#: Has the machine code of every pane brought: all stages chosen, all panes opened.
OPEN_ALL = """async () => {
    for (const pane of document.querySelectorAll(".tclab-pane")) pane.open = true;
    for (let waited = 0; waited < 400; waited++) {
        if (!document.querySelector(".tclab-away, .tclab-bare")) return true;
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return false;
}"""


@functools.cache
def chain_of(page: str) -> Chain:
    """Return the chain that a page shows, from the store."""
    text = (ROOT / "docs" / "explorer" / f"{page}.md").read_text(encoding="utf-8")
    name = re.search(r'show\("(explorer/\w+)"', text)
    assert name
    run = Store.of_project(ROOT).load(name[1])
    assert run
    (chain,) = (a for a in run.artifacts if isinstance(a, Chain))
    return chain


@functools.cache
def expected(page: str) -> list[list[str]]:
    """For each Python line, the stages a click must light."""
    chain = chain_of(page)
    index = Index.from_chain(chain)
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


def lit(tab: Any) -> int:
    """Return how many lines are lit."""
    return tab.locator(".linked").count()


def python_line(tab: Any, page: str) -> Any:
    """Return the first Python line that reaches the last stage."""
    last = chain_of(page).panes[-1].stage
    reach = [last in stages for stages in expected(page)]
    return tab.locator(LINES).nth(reach.index(True))


def everything(chain: Chain) -> str:
    """Return the address that shows every stage."""
    return "?stages=" + ".".join(dict.fromkeys(pane.stage for pane in chain.panes))


@pytest.mark.parametrize("page", PAGES)
def test_a_python_line_lights_every_stage_it_reaches_and_is_found_again(opened, page: str) -> None:
    chain = chain_of(page)
    last = chain.panes[-1].stage
    assert last in ("cpp", "asm", "sass")
    tab = opened(page, everything(chain))
    assert tab.evaluate(OPEN_ALL)
    found = tab.evaluate(CLICK_ALL, last)
    assert [stages for stages, _ in found] == expected(page)
    assert all(all(back) for _, back in found)
    through = {"kernel", *MACHINE} if last == "sass" else {"cpp", last}
    assert any(through <= set(stages) and back for stages, back in found)


@pytest.mark.parametrize("page", SOME)
def test_pointing_moves_nothing_under_the_pointer(opened, page: str) -> None:
    tab = opened(page)
    line = python_line(tab, page)
    before = line.bounding_box()
    line.hover()
    tab.wait_for_selector(".linked")
    assert line.bounding_box()["y"] == before["y"]
    line.click()
    assert "linked" in line.get_attribute("class")
    assert lit(tab) > 1


@pytest.mark.parametrize("page", SOME)
def test_the_keyboard_keeps_walks_and_lets_go(opened, page: str) -> None:
    tab = opened(page)
    python_line(tab, page).evaluate("line => { line.click(); line.click(); }")
    assert lit(tab) == 0
    tab.keyboard.press("Enter")
    assert lit(tab) > 1
    assert "#" in tab.evaluate("location.href")
    stages = []
    tab.wait_for_function(f"!document.querySelector('{COMING}')")
    for _ in tab.locator(".tclab-column:not([hidden]) .tclab-pane").all():
        tab.keyboard.press("ArrowRight")
        stages += tab.evaluate("""() => {
            const line = document.activeElement;
            const linked = line.classList.contains("linked");
            return linked ? [line.closest(".tclab-pane").dataset.stage] : [];
        }""")
    assert {"kernel", "cpp"} & set(stages)
    tab.keyboard.press("Escape")
    assert lit(tab) == 0
    assert "#" not in tab.evaluate("location.href")


@pytest.mark.parametrize("page", SOME)
def test_an_address_of_an_instruction_opens_it(opened, page: str) -> None:
    stage = chain_of(page).panes[-1].stage
    tab = opened(page)
    python_line(tab, page).evaluate("line => line.click()")
    last = f".tclab-pane[data-stage={stage}] .linked"
    tab.wait_for_selector(last, state="attached")
    tab.locator(last).last.evaluate("line => line.click()")
    address = tab.evaluate("location.href").rpartition(".html")[2]
    assert f"-{stage}" in address.partition("#")[2] and stage in address.partition("#")[0]
    again = opened(page, address)
    again.wait_for_selector(f"{last}.tclab-current")
    assert "linked" in python_line(again, page).get_attribute("class")


@pytest.mark.parametrize("page", PAGES)
def test_without_javascript_every_stage_is_there_to_read(opened, site: Path, page: str) -> None:
    tab = opened(page, java_script_enabled=False)
    for number, pane in enumerate(chain_of(page).panes):
        shown = tab.locator(".tclab-pane").nth(number)
        text, link = shown.locator("pre.tclab-lines"), shown.locator("a[href$='.txt']")
        assert text.count() + link.count() == 1, pane.stage
        if link.count():
            path = (site / "explorer" / str(link.get_attribute("href"))).resolve()
            assert pane.code.rstrip().split("\n")[-1].split()[-1] in path.read_text("utf-8")
    assert tab.locator(".tclab-tools").is_hidden()


# ------------------------------------------------------------------------------ machine code


def test_machine_code_is_asked_for_when_its_stage_is_opened(opened) -> None:
    tab = opened("layer-norm")
    tab.wait_for_selector(".tclab-pane[data-stage=sass] t-l", state="attached")
    assert {re.search(r"-(\w+)-\w+\.js", u)[1] for u in tab.asked if "assets/code" in u} == {"sass"}
    tab.locator(".tclab-chooser").get_by_text("LLVM IR").click()
    tab.wait_for_selector(".tclab-pane[data-stage=llir] t-l:not(.tclab-noise)")
    asked = [url for url in tab.asked if "assets/code" in url]
    assert len(asked) == 2 and "-llir-" in asked[1]


def test_machine_code_opens_over_file(tab: Any, site: Path) -> None:
    page = tab(viewport={"width": 1440, "height": 900})
    page.goto((site / "explorer" / "relu.html").as_uri() + "?stages=python.ptx#nothing")
    page.wait_for_selector(".tclab-pane[data-stage=ptx] t-l:not(.tclab-noise)")
    page.locator(LINES).nth(1).click()
    page.wait_for_selector(".tclab-pane[data-stage=ptx] .linked")
    assert page.problems == []


def test_machine_code_that_cannot_be_had_leads_to_its_text(tab: Any, address: str) -> None:
    page = tab(viewport={"width": 1440, "height": 900})
    page.route("**/assets/code/*.js", lambda route: route.abort())
    page.goto(f"{address}/explorer/relu.html")
    page.wait_for_selector(".tclab-pane[data-stage=sass] .tclab-failed a[href$='.txt']")
    page.locator(LINES).nth(1).click()
    assert page.locator(".tclab-pane[data-stage=kernel] .linked").count() > 0
    page.unroute("**/assets/code/*.js")
    page.locator(".tclab-chooser").get_by_text("PTX").click()
    page.locator(".tclab-chooser").get_by_text("SASS").click()
    page.locator(".tclab-chooser").get_by_text("SASS").click()
    page.wait_for_selector(
        ".tclab-pane[data-stage=sass] t-l:not(.tclab-noise)"
    )  # the next time it is there


# --------------------------------------------------------------------- the way to other functions


def test_each_function_leads_to_the_others(site: Path) -> None:
    for page in PAGES:
        html = (site / "explorer" / f"{page}.html").read_text("utf-8")
        (nav,) = re.findall(r'<nav class="tclab-crumbs".*?</nav>', html, re.DOTALL)
        links = re.findall(r'<li><a href="([^"]*)\.html"( aria-current="page")?>', nav)
        assert sorted(name for name, _ in links) == sorted({*FOUND} - {"index"})
        assert [name for name, current in links if current] == [page]


def test_the_other_functions_unfold(opened) -> None:
    tab = opened("relu")
    nav = tab.locator(".tclab-crumbs")
    nav.locator("summary").click()
    assert nav.locator("li > a").first.is_visible()
    nav.get_by_text("Explorer", exact=True).click()
    tab.wait_for_url("**/explorer/index.html")
    assert tab.locator(".tclab-crumbs").count() == 0


@pytest.mark.parametrize("page", ["../index", "index", *SOME])
def test_n_and_p_stay_on_the_page(opened, page: str) -> None:
    """With the focus on a line, on a button, and nowhere: the theme has links for both keys."""
    tab = opened(page)
    path = tab.evaluate("location.pathname")
    assert tab.locator("link[rel=next], link[rel=prev]").count() > 0
    tab.locator(LINES).nth(1).click()
    for place in (LINES, ".tclab-chooser input", ".tclab-head [data-do=find]", "body"):
        tab.locator(place).first.evaluate("e => e === document.body ? e.blur() : e.focus()")
        for key in "np":
            tab.keyboard.press(key)
            assert tab.evaluate(WHERE) == path, (place, key)


@pytest.mark.parametrize("page", ["../index", *SOME])
def test_the_wheel_over_a_pane_moves_the_page(opened, page: str) -> None:
    tab = opened(page)
    chain = tab.locator(".tclab-chain")
    chain.evaluate("chain => chain.scrollIntoView()")
    pane = tab.locator(".tclab-column:not([hidden]) .tclab-scroller").last
    box = pane.bounding_box()
    tab.mouse.move(box["x"] + 60, box["y"] + 80)
    room = "document.documentElement.scrollHeight - innerHeight - scrollY"
    assert tab.evaluate(room) > 100
    before = tab.evaluate("scrollY")
    tab.mouse.wheel(0, 100)
    assert comes(lambda: tab.evaluate("scrollY") > before + 50)


@pytest.mark.parametrize("page", ["../index", *PAGES])
def test_at_rest_every_pane_shows_a_line_with_a_colour(opened, page: str) -> None:
    tab = opened(page)
    tab.locator(".tclab-chain").evaluate("chain => chain.scrollIntoView()")
    for stage in tab.locator(".tclab-column:not([hidden])").evaluate_all(
        "all => all.map((column) => column.dataset.column)"
    ):
        lines = tab.locator(f"[data-column={stage}] t-l[style]:not(.tclab-noise)")
        assert comes(lambda of=lines: any(of.evaluate_all(IN_VIEWS))), stage


#: The page's path after a way to the server and back: a page that is being left has gone by then.
WHERE = "fetch(location.href).then(() => location.pathname)"
#: Whether each of these lines is to be seen.
IN_VIEWS = f"all => all.slice(0, 40).map({IN_VIEW})"


def test_five_tabs_at_most_lead_to_the_first_line(opened) -> None:
    tab = opened("layer-norm")
    for taps in ("Tab", "Enter"):  # the site's skip link
        tab.keyboard.press(taps)
    tabs = 1
    for there in ("textContent === 'Skip to the code'", "localName === 't-l'"):
        while tabs < 5 and not tab.evaluate(f"document.activeElement.{there}"):
            tab.keyboard.press("Tab")
            tabs += 1
        if "Skip" in there:
            tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.closest('.tclab-pane').dataset.stage") == "python"
    assert tab.evaluate("document.activeElement.localName") == "t-l"


# ----------------------------------------------------------------------------------- figures

SHIFTS = """
    window.shifted = 0;
    new PerformanceObserver((list) => {
        for (const e of list.getEntries()) if (!e.hadRecentInput) window.shifted += e.value;
    }).observe({type: "layout-shift", buffered: true});
"""


@pytest.mark.parametrize(("width", "page"), WIDTHS)
def test_nothing_moves_while_a_page_loads(tab: Any, address: str, width: int, page: str) -> None:
    shown = tab(viewport={"width": width, "height": 844})
    shown.add_init_script(SHIFTS)

    def shift() -> float:
        shown.goto(f"{address}/{page}", wait_until="networkidle")
        at_rest(shown)
        return float(shown.evaluate("window.shifted"))

    # On a busy machine a frame may come before the style that it needs, once in many loads.
    assert any(shift() <= 0.02 for _ in range(3))
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


#: What of the limit for a page is left to the viewer: the rest is the theme's and the search's.
MOST_OF_A_PAGE = 170_000


@pytest.mark.parametrize("page", [*PAGES, *WITHOUT])
def test_a_page_is_light(tab: Any, address: str, page: str) -> None:
    shown = tab(viewport={"width": 1440, "height": 900})
    answers: list[Any] = []
    shown.on("response", lambda answer: answers.append(answer))  # noqa: PLW0108 - playwright wants a function
    shown.goto(f"{address}/explorer/{page}.html", wait_until="networkidle")
    own = [a for a in answers if "/explorer/" in a.url or "/tclab/" in a.url or "/code/" in a.url]
    assert sum(len(gzip.compress(answer.body(), 6)) for answer in own) <= MOST_OF_A_PAGE


def test_the_smallest_example_has_lines_to_tell_apart(opened) -> None:
    tab = opened("relu")
    tab.wait_for_selector(f"{LINES}[style]")
    hues = tab.locator(LINES).evaluate_all(
        "all => all.map((line) => line.style.getPropertyValue('--c')).filter(Boolean)"
    )
    assert len(set(hues)) >= 3


def test_one_sum_on_two_gpus_is_shown_side_by_side(opened) -> None:
    tab = opened("column-sum")
    diff = tab.locator(".tclab-diff")
    assert "The same in both: Python, Bytecode," in diff.locator("p").first.inner_text()
    sass = diff.locator(".tclab-compared[data-stage=sass]").first
    assert sass.get_attribute("open") is not None  # what differs of the kernel is metadata
    assert sass.locator(".tclab-sides").inner_text().split() == ["H200", "A100"]
    removed, added = sass.locator("del").first, sass.locator("ins").first
    assert (
        removed.bounding_box()["x"] + removed.bounding_box()["width"] <= added.bounding_box()["x"]
    )
    tab.set_viewport_size({"width": 390, "height": 844})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


def test_pointing_at_an_instruction_leads_to_its_entry(opened) -> None:
    tab = opened("softmax")
    opcode = tab.locator('[data-stage="sass"] .tclab-op').nth(3)
    name = opcode.inner_text().split(".")[0]
    opcode.hover()
    link = tab.locator(".tclab-tip a")
    link.wait_for(state="visible")
    assert link.inner_text() == f"{name} in the reference"
    link.hover()  # the way from the instruction to the link does not lose it
    link.click()
    tab.wait_for_url(f"**/reference/instructions.html#sass-{name}")
    assert tab.locator(f"#sass-{name} td").first.inner_text() == name


def test_a_kept_instruction_has_a_link_below_the_code(opened) -> None:
    tab = opened("softmax")
    line = tab.locator('[data-stage="sass"] t-l:has(.tclab-op)').nth(3)
    line.evaluate("line => line.click()")  # as the keyboard and a finger do: no pointer is near
    name = line.locator(".tclab-op").inner_text().split(".")[0]
    link = tab.locator(".tclab-said a")
    assert link.get_attribute("href").endswith(f"reference/instructions.html#sass-{name}")
