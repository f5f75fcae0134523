"""The viewer of a chain, in a real Chromium, on a page that stands alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tclab import render
from tclab.model import Chain, Kernel, KernelFacts, Listing, Resources
from tclab.render import standalone
from tclab.render.closure import Index
from tclab.render.options import Options

pytestmark = pytest.mark.browser

#: Lines of the machine code, of which the last two have origins.
LONG = 400


def listing(stage: str, lines: list[str], **more: Any) -> Listing:
    return Listing(f"The {stage}", stage, "\n".join(lines) + "\n", "text", stage, **more)


def chain(machine_lines: int = LONG) -> Chain:
    """Two Python lines: the first ends in kernel 1, the second in kernel 2, PTX and SASS."""
    code = [f"mad {i}" for i in range(1, machine_lines + 1)]
    last = machine_lines
    return Chain(
        "A chain", "chain",
        (
            listing("python", ["y = x + 1", "z = y * 2", "pass"], first_line=5,
                    marks={1: ("py:1",), 2: ("py:2",)}),
            listing("dynamo", ["add", "mul", "return"], links={1: ("py:1",), 2: ("py:2",)},
                    marks={1: ("fx:add",), 2: ("fx:mul",)}),
            Kernel("Kernel 0", "k0", "tmp1 = tmp0 + 1\n", "python", "kernel",
                   links={1: ("fx:add",)}, facts=KernelFacts(resources=Resources(16, 0))),
            Kernel("Kernel 1", "k1", "load\ntmp1 = tmp0 * 2\nstore\n", "python", "kernel",
                   links={2: ("fx:mul",)}, marks={2: ("k:2",)}),
            listing("ptx", code, links={last: ("k:2",), last - 1: ("k:2",)},
                    marks={last: ("ptx",)}),
            listing("sass", code, links={last: ("ptx",)}),
        ), "0/0",
    )  # fmt: skip


#: What a click on the second Python line lights.
SECOND = [
    "python 6", "dynamo 2", "kernel-2 2", f"ptx {LONG - 1}", f"ptx {LONG}", f"sass {LONG}",
]  # fmt: skip

GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, x):
        # File: f.py:5 in f, code: y = x + 1
        add: "f32[2048, 768][768, 1]cuda:0" = torch.ops.aten.add.Tensor(x, 1)
        return (add,)
"""
SASS = """\t.headerflags\t@"EF_CUDA_SM90"
\t//## File "k.py", line 2
        /*0000*/                   MUFU.EX2 R1, R2 ;
        /*0010*/              @!P0 XYZZY.128 R4, [R2] ;
        /*0020*/                   NOP;
"""


def real() -> Chain:
    """One Python line, a graph with a type, and SASS with directives."""
    panes = (
        listing("python", ["y = x + 1"], marks={1: ("py",)}),
        Listing("Graph", "g", GRAPH, "python", "forward", links={4: ("py",)}, marks={4: ("fx",)}),
        Listing("SASS", "s", SASS, "text", "sass", links={3: ("fx",), 4: ("fx",)}),
    )
    return Chain("Real", "real", panes)


def many(lines: int) -> Chain:
    """A Python line that became every third line of a kernel of so many lines."""
    links = dict.fromkeys(range(3, lines + 1, 3), ("py",))
    kernel = listing("kernel", [f"tmp{n} = tmp{n - 1} + 1" for n in range(lines)], links=links)
    return Chain("Many", "many", (listing("python", ["y = f(x)"], marks={1: ("py",)}), kernel))


# ------------------------------------------------------------------------------- the page

Open = Callable[..., Any]

FILLER = "<p>" + "Some words. " * 60 + "</p>"


@pytest.fixture
def opened(tab: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens a report with a chain between paragraphs; its page must have had no error and no
    request at the end.
    """
    pages: list[Any] = []
    path = tmp_path / "report.html"

    def open_report(
        shown: Chain | None = None, anchor: str = "", edit: Callable[[str], str] = str, **more: Any
    ) -> Any:
        body = FILLER + render.figure(shown or chain(), options=Options("c")) + FILLER * 20
        path.write_text(edit(standalone.page("A report", body)), encoding="utf-8")
        script = more.pop("script", "")
        pages.append(tab(**{"viewport": {"width": 1500, "height": 900}} | more))
        if script:
            pages[-1].add_init_script(script)
        pages[-1].goto(path.as_uri() + anchor)
        return pages[-1]

    yield open_report
    assert [problem for page in pages for problem in page.problems] == []
    asked = [url for page in pages for url in page.asked]
    assert [url for url in asked if not url.startswith(path.as_uri())] == []


def lit(page: Any) -> list[str]:
    """Ids of panes with the numbers of their linked lines."""
    return page.evaluate("""() => Array.from(document.querySelectorAll(".linked"), (line) => {
        const pane = line.closest(".tclab-pane");
        const at = Array.from(pane.querySelectorAll("t-l")).indexOf(line);
        return pane.id.slice(2) + " " + (at + Number(pane.dataset.first || 1));
    })""")


def line(page: Any, pane: str, number: int) -> Any:
    """A line by its number as it is shown; Python begins at its own."""
    box = page.locator(f"#c-{pane}")
    first = int(box.get_attribute("data-first") or 1)
    return box.locator("t-l").nth(number - first)


IN_VIEW = """(line) => {
    const at = line.getBoundingClientRect();
    const box = line.closest(".tclab-scroller").getBoundingClientRect();
    return at.height > 0 && at.top >= Math.max(0, box.top)
        && at.bottom <= Math.min(box.bottom, innerHeight);
}"""


def in_view(page: Any, pane: str, number: int) -> bool:
    """Whether a line comes to be within its pane and the window: scrolling takes its time."""
    for _ in range(100):
        if line(page, pane, number).evaluate(IN_VIEW):
            return True
        page.wait_for_timeout(50)
    return False


def come_to_rest(page: Any) -> None:
    """Until nothing scrolls and nothing is drawn any more."""
    page.evaluate("""async () => {
        const where = () => [scrollY, ...Array.from(document.querySelectorAll(".tclab-scroller"),
            (box) => box.scrollTop)].join();
        for (let same = 0, last = ""; same < 6;) {
            await new Promise(requestAnimationFrame);
            same = where() === last ? same + 1 : 0;
            last = where();
        }
    }""")


def until(page: Any, expression: str) -> None:
    """Until something holds; asked from here, since the page may not evaluate text."""
    for _ in range(100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never: {expression}")


def counts(page: Any, text: str) -> None:
    """Until the kernel's pane says which of its linked lines it is at."""
    until(page, f"document.querySelector('[data-column=kernel] .tclab-at').innerText === '{text}'")


def shown(page: Any) -> list[str]:
    """The stages that are shown."""
    columns = page.locator(".tclab-column:not([hidden])")
    return columns.evaluate_all("all => all.map((column) => column.dataset.column)")


def focused(page: Any) -> str:
    """The pane and the line, from 1, that has the focus."""
    return page.evaluate("""() => {
        const pane = document.activeElement.closest(".tclab-pane");
        const lines = Array.from(pane.querySelectorAll("t-l"));
        return pane.id.slice(2) + " " + (lines.indexOf(document.activeElement) + 1);
    }""")


# ---------------------------------------------------------------------------- what is linked


def test_a_click_on_python_lights_every_stage_it_reaches(opened: Open) -> None:
    page = opened()
    line(page, "python", 6).click()
    assert lit(page) == SECOND
    come_to_rest(page)
    for pane, number in (("kernel-2", 2), ("ptx", LONG - 1), ("sass", LONG)):
        assert in_view(page, pane, number)
    line(page, "python", 6).click()
    assert lit(page) == [] and page.locator("[data-dimmed]").count() == 0


def test_the_last_stage_leads_back(opened: Open) -> None:
    page = opened()
    page.locator("[data-column=sass] .tclab-scroller").evaluate("box => box.scrollTop = 1e6")
    line(page, "sass", LONG).click()
    assert lit(page) == [each for each in SECOND if each != f"ptx {LONG - 1}"]  # no sibling
    come_to_rest(page)
    assert in_view(page, "sass", LONG) and in_view(page, "python", 6)


def test_pointing_previews_until_a_line_is_pinned(opened: Open) -> None:
    page = opened()
    line(page, "python", 5).hover()
    page.wait_for_selector(".linked")
    assert lit(page) == ["python 5", "dynamo 1", "kernel 1"]
    assert page.locator("[data-dimmed]").count() == 0
    page.locator("h1").hover()
    page.wait_for_selector(".linked", state="detached")
    line(page, "python", 6).click()
    line(page, "python", 5).hover()
    page.wait_for_timeout(100)
    assert "python 5" not in lit(page) and "python 6" in lit(page)


def test_a_line_without_links_says_so(opened: Open) -> None:
    page = opened()
    line(page, "kernel-2", 1).click()
    assert "line 1. No link is known" in page.locator(".tclab-said").inner_text()
    line(page, "kernel-2", 2).click()
    assert "line 2. Linked lines: Python 1, " in page.locator(".tclab-said").inner_text()


def test_the_page_finds_what_the_chain_says(opened: Open) -> None:
    """Every line of a chain, clicked by script, lights what `Index.closure` has; and has the
    colours of the Python lines that `Index.owners` names."""
    small = chain(20)
    index = Index.of(small)
    python = [i for i in range(3) if index.closure(i) != {i}]
    owners = dict(index.owners(python)) | {i: (i,) for i in python}
    page = opened(small, anchor="?stages=" + ".".join(p.stage for p in small.panes))
    until(page, "document.querySelectorAll('t-l[style]').length > 8")
    clicked = page.evaluate("""() => {
        const lines = Array.from(document.querySelectorAll("t-l"));
        return lines.map((line) => {
            line.click();
            return lines.flatMap((other, i) => other.classList.contains("linked") ? [i] : []);
        });
    }""")
    assert clicked == [sorted(index.closure(i)) for i in range(sum(index.counts))]
    hues = page.evaluate("""() => Array.from(document.querySelectorAll("t-l"), (line) =>
        line.style.getPropertyValue("--c"))""")
    assert {i for i, hue in enumerate(hues) if hue} == set(owners)
    assert all(hues[i] == hues[of[0]] for i, of in owners.items())
    assert len({hues[i] for i in python}) == len(python)


def test_where_a_run_of_lines_begins_stands_the_number_of_its_python_line(opened: Open) -> None:
    page = opened()
    page.wait_for_selector("#c-kernel-2 t-l[data-of]")
    numbers = "all => all.map((line) => line.dataset.of || '')"
    assert page.locator("#c-kernel-2 t-l").evaluate_all(numbers) == ["", "6", ""]
    assert page.locator("#c-python t-l").evaluate_all(numbers) == ["", "", ""]
    assert page.locator("#c-kernel t-l").evaluate_all(numbers) == ["5"]


# ---------------------------------------------------------------------- the window and the panes


def wheel(page: Any, at: Any, by: int) -> float:
    """How far the page went when the wheel was turned over an element."""
    before, box = page.evaluate("scrollY"), at.bounding_box()
    page.mouse.move(box["x"] + 50, min(box["y"] + 60, 800))
    page.mouse.wheel(0, by)
    page.wait_for_timeout(250)
    return page.evaluate("scrollY") - before


def test_the_page_scrolls_where_a_pane_cannot(opened: Open) -> None:
    page = opened()
    page.locator(".tclab-chain").scroll_into_view_if_needed()
    python = page.locator("[data-column=python] .tclab-scroller")
    sass = page.locator("[data-column=sass] .tclab-scroller")
    assert wheel(page, python, 200) == 200  # all of it is in sight
    assert wheel(page, python, -200) == -200
    assert wheel(page, sass, 200) == 0 and sass.evaluate("box => box.scrollTop") == 200
    sass.evaluate("box => box.scrollTop = 1e6")
    assert wheel(page, sass, 200) == 200  # at its end


def swipe(page: Any, at: Any, by: int) -> float:
    """How far the page went when a finger moved up over an element."""
    box, before = at.bounding_box(), page.evaluate("scrollY")
    x, y = box["x"] + 100, box["y"] + box["height"] - 20
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *points: dict[str, float]) -> None:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})
        page.wait_for_timeout(20)

    touch("touchStart", {"x": x, "y": y})
    for step in range(1, 11):
        touch("touchMove", {"x": x, "y": y - by * step / 10})
    touch("touchEnd")
    come_to_rest(page)
    return page.evaluate("scrollY") - before


def test_a_finger_moves_the_page_where_a_pane_cannot(opened: Open) -> None:
    page = opened(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.locator(".tclab-chain").evaluate("chain => chain.scrollIntoView()")
    assert swipe(page, page.locator("[data-column=python] .tclab-scroller"), 150) > 100
    page.locator(".tclab-chain").evaluate("chain => chain.scrollIntoView()")
    page.locator(".tclab-chooser").get_by_text("SASS").click()
    sass = page.locator("[data-column=sass] .tclab-scroller")
    assert swipe(page, sass, 150) == 0 and sass.evaluate("box => box.scrollTop") > 100


SIZES = tuple({"width": w, "height": h} for w, h in ((1500, 900), (1024, 600), (390, 844)))
BY_WIDTH = pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size["width"]))


@BY_WIDTH
def test_the_viewer_is_as_tall_as_the_window_at_most(opened: Open, size: dict[str, int]) -> None:
    page = opened(viewport=size)
    assert page.locator(".tclab-chain").bounding_box()["height"] <= size["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    short = opened(real(), viewport=size)  # of a few lines: no taller than they need
    assert short.locator(".tclab-chain").bounding_box()["height"] <= min(size["height"], 430)


@BY_WIDTH
def test_the_first_click_brings_what_it_lights_into_sight(
    opened: Open, size: dict[str, int]
) -> None:
    page = opened(viewport=size)
    line(page, "python", 6).scroll_into_view_if_needed()
    line(page, "python", 6).click(position={"x": 120, "y": 5})
    come_to_rest(page)
    box = page.locator(".tclab-chain").bounding_box()
    assert box["y"] >= -1 and box["y"] + box["height"] <= size["height"] + 1
    for stage in shown(page):
        linked = page.locator(f"[data-column={stage}] .linked").first
        assert linked.evaluate("""(line) => {
            const at = line.getBoundingClientRect();
            return at.top >= 0 && at.bottom <= innerHeight;
        }"""), stage


def test_linked_lines_come_to_the_middle_of_every_pane(opened: Open) -> None:
    page = opened(many(900))
    page.locator("[data-column=kernel] .tclab-scroller").evaluate("box => box.scrollTop = 4000")
    target = line(page, "kernel", 300)
    target.click()
    line(page, "python", 1).click()  # away from where the kernel stands
    page.locator("[data-column=kernel] .tclab-scroller").evaluate("box => box.scrollTop = 9000")
    page.keyboard.press("Escape")
    line(page, "python", 1).click()
    come_to_rest(page)
    off = line(page, "kernel", 3).evaluate("""(line) => {
        const box = line.closest(".tclab-scroller").getBoundingClientRect();
        const at = line.getBoundingClientRect();
        return [at.top - box.top, line.closest(".tclab-scroller").scrollTop];
    }""")
    assert 0 <= off[0] <= 120 and off[1] == 0  # the third line of all: as near as can be
    page.keyboard.press("Escape")
    page.goto(page.url.partition("?")[0].partition("#")[0] + "#c-kernel-L450")
    page.wait_for_selector("#c-kernel .linked")
    come_to_rest(page)
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
    line(page, "python", 1).click()
    come_to_rest(page)
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
    line(page, "python", 1).click()
    assert in_view(page, "kernel", 3)
    come_to_rest(page)  # a click that asks for scrolling would end the viewer's own
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
    line(page, "python", 1).click()
    page.locator("[data-column=kernel] [data-do=next]").click()
    line(page, "kernel", 4).focus()
    page.keyboard.press("Shift+N")
    counts(page, "4/5")


# ------------------------------------------------------------------------------- addresses


@BY_WIDTH
@pytest.mark.parametrize(("pane", "number"), [("kernel-2", 2), ("ptx", LONG), ("dynamo", 2)])
def test_a_link_to_a_line_lands_on_it(
    opened: Open, size: dict[str, int], pane: str, number: int
) -> None:
    page = opened(anchor=f"#c-{pane}-L{number}", viewport=size)
    page.wait_for_selector(f"#c-{pane} .linked")
    come_to_rest(page)
    assert f"{pane} {number}" in lit(page) and in_view(page, pane, number)
    box = page.locator(".tclab-chain").bounding_box()
    assert box["y"] >= -1 and box["y"] + box["height"] <= size["height"] + 1


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: str(size["width"]))
def test_the_stages_are_in_the_address(opened: Open, size: dict[str, int]) -> None:
    page = opened(anchor="?stages=python.dynamo.ptx#c-ptx-L400", viewport=size)
    page.wait_for_selector("#c-ptx .linked")
    assert shown(page) == ["python", "dynamo", "ptx"]
    page.locator(".tclab-chooser").get_by_text("SASS").click()
    assert "?stages=python.dynamo.ptx.sass#c-ptx-L400" in page.url
    line(page, "python", 6).click()
    assert page.url.endswith("?stages=python.dynamo.ptx.sass#c-python-L6")
    again = opened(anchor="?" + page.url.partition("?")[2], viewport=size)
    assert shown(again) == ["python", "dynamo", "ptx", "sass"] and lit(again) == SECOND
    again.keyboard.press("Escape")
    assert "#" not in again.url


@pytest.mark.parametrize(
    "anchor",
    ["#c-ptx-L999999", "#nothing-L1", "#c-ptx-L0", "#%F0", "#c-ptx", "?stages=&x=%F0#",
     "?stages=nothing.at.all#c-python-L6", "?stages=nothing.python&h=term"],
)  # fmt: skip
def test_an_address_of_nothing_does_no_harm(opened: Open, anchor: str) -> None:
    page = opened(anchor=anchor)
    assert "python" in shown(page)
    page.keyboard.press("Escape")
    line(page, "python", 5).click()
    assert {"python 5", "dynamo 1", "kernel 1"} == set(lit(page))


def test_a_line_s_link_is_copied(opened: Open, browser: Any) -> None:
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    line(page, "python", 6).click()
    page.locator(".tclab-link").click()
    page.wait_for_selector(".tclab-link[data-said=copied]")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url and link.endswith("#c-python-L6") and "?stages=python." in link
    assert lit(page)  # the click was for the button
    line(page, "python", 6).focus()
    page.evaluate("navigator.clipboard.writeText('')")
    page.keyboard.press("c")
    until(page, "navigator.clipboard.readText().then((text) => text.includes('#c-'))")


def test_where_copying_is_forbidden_the_button_says_so(opened: Open) -> None:
    forbid = """navigator.clipboard.writeText = () => Promise.reject();
        document.execCommand = () => false;"""
    page = opened(script=forbid)
    line(page, "python", 6).click()
    page.locator(".tclab-link").click()
    page.wait_for_selector(".tclab-link[data-said='the address has it']")


# ------------------------------------------------------------------- what is shown, and how wide


def test_stages_are_chosen(opened: Open) -> None:
    page = opened()
    assert shown(page) == ["python", "kernel", "ptx", "sass"]
    page.locator(".tclab-chooser").get_by_text("SASS").click()
    page.locator(".tclab-chooser").get_by_text("Dynamo").click()
    assert shown(page) == ["python", "dynamo", "kernel", "ptx"]
    line(page, "python", 6).click()
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
    page.goto(page.url.partition("?")[0])
    assert shown(page) == chosen
    page.set_viewport_size({"width": 1000, "height": 900})  # room for fewer: its own choice
    page.goto(page.url.partition("?")[0])
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
    page.reload()
    assert widths(page) == pytest.approx(kept, abs=1)


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
    page.reload()
    assert page.locator("[data-do=wrap]").get_attribute("aria-pressed") == "true"
    assert scroller.evaluate(sideways) == 0


def visible(page: Any, pane: str) -> list[str]:
    """The texts of a pane's lines that are not hidden."""
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
    line(page, "sass", 3).click()
    assert "special function unit" in page.locator(".tclab-said").inner_text()


# ------------------------------------------------------------------------------------- find


def test_find_in_a_pane(opened: Open) -> None:
    page = opened(many(400))
    column = page.locator("[data-column=kernel]")
    column.locator("[data-do=find]").click()
    page.keyboard.type("TMP3 ")
    count = column.locator(".tclab-find output")
    until(page, "document.querySelector('[data-column=kernel] .tclab-find output').textContent")
    assert count.inner_text() == "–/2"  # tmp3 = …, … = tmp3 + 1
    assert page.locator(".tclab-match").count() >= 2
    page.keyboard.press("Enter")
    assert count.inner_text() == "1/2"
    column.locator("input").fill("tmp39")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+Enter")
    come_to_rest(page)
    assert in_view(page, "kernel", 40)
    assert column.locator(".tclab-ruler .tclab-match").count() > 0
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
    until(page, "document.querySelector('[data-column=sass] .tclab-find output').textContent")
    assert column.locator(".tclab-find output").inner_text() == "–/0"
    page.locator("[data-do=all]").click()
    column.locator("input").fill("nop;")
    page.wait_for_selector("#c-sass .tclab-match")


# ------------------------------------------------------------------------------- keyboard


def test_the_keyboard_does_all(opened: Open) -> None:
    page = opened()
    line(page, "python", 5).focus()
    assert page.locator("t-l[tabindex='0']").count() == 1
    page.keyboard.press("ArrowDown")
    until(page, "document.querySelectorAll('.linked').length >= 4")
    page.keyboard.press("Enter")
    come_to_rest(page)
    assert "python 6" in lit(page) and f"sass {LONG}" in lit(page)
    assert "Python, line 6. Linked lines:" in page.locator(".tclab-said").inner_text()
    page.keyboard.press("ArrowRight")  # to the first linked line of the next pane shown
    assert focused(page) == "kernel-2 2"
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    assert lit(page) == ["kernel-2 1"]
    page.keyboard.press("Escape")
    assert lit(page) == [] and "#" not in page.url


def test_five_tabs_at_most_lead_into_the_viewer(opened: Open) -> None:
    page = opened()
    page.locator("h1").evaluate("title => { title.tabIndex = -1; title.focus(); }")
    for _ in range(5):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.localName") == "t-l":
            break
    assert focused(page) == "python 1"


def test_the_viewer_can_be_entered_at_once(opened: Open) -> None:
    page = opened()
    page.locator("h1").evaluate("title => { title.tabIndex = -1; title.focus(); }")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the code"
    page.keyboard.press("Enter")
    assert focused(page) == "python 1"


def test_arrows_go_through_the_stages_to_choose(opened: Open) -> None:
    page = opened()
    page.locator(".tclab-chooser input").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.value") == "dynamo"
    assert ("dynamo" in shown(page)) == page.evaluate("document.activeElement.checked")


# ---------------------------------------------------------------------------------- phones


def test_on_a_phone_the_chosen_stage_comes_to_the_front(opened: Open) -> None:
    page = opened(viewport={"width": 390, "height": 844})
    assert shown(page) == ["python", "kernel"]
    page.locator(".tclab-chooser").get_by_text("SASS").click()
    assert shown(page) == ["python", "sass"]
    page.locator(".tclab-chooser").get_by_text("Python").click()
    assert shown(page) == ["python", "sass"]
    line(page, "python", 6).click(position={"x": 120, "y": 5})
    come_to_rest(page)
    assert in_view(page, "sass", LONG) and in_view(page, "python", 6)
    page.locator(".tclab-chooser").get_by_text("PTX").click()
    come_to_rest(page)
    assert in_view(page, "ptx", LONG - 1) and in_view(page, "python", 6)
    boxes = page.locator(".tclab-column:not([hidden])").evaluate_all(
        "all => all.map((c) => c.getBoundingClientRect().left)"
    )
    assert len(boxes) == 2 and len(set(boxes)) == 1


# ------------------------------------------------------------------------ loading, old browsers

SHIFTS = """
    window.shifted = 0;
    new PerformanceObserver((list) => {
        for (const e of list.getEntries()) if (!e.hadRecentInput) window.shifted += e.value;
    }).observe({type: "layout-shift", buffered: true});
"""


@BY_WIDTH
def test_nothing_moves_while_the_page_loads(opened: Open, size: dict[str, int]) -> None:
    page = opened(many(3000), viewport=size, script=SHIFTS)
    page.wait_for_timeout(700)
    assert page.evaluate("window.shifted") <= 0.02


def test_a_kernel_of_5000_lines_is_laid_out_as_far_as_it_is_seen(opened: Open) -> None:
    page = opened(many(5000))
    line(page, "python", 1).click()
    assert len(lit(page)) == 1 + 5000 // 3
    chunks = page.locator("#c-kernel t-c")
    assert chunks.count() == 100
    skipped = chunks.evaluate_all("""all => all.filter((chunk) =>
        !chunk.firstChild.checkVisibility({contentVisibilityAuto: true})).length""")
    assert skipped > 60
    page.locator("[data-column=kernel] [data-do=previous]").click()
    come_to_rest(page)
    assert in_view(page, "kernel", 4998)


def test_a_browser_without_content_visibility_shows_the_same(opened: Open) -> None:
    def without(html: str) -> str:
        return html.replace("content-visibility:", "x-a:").replace("contain-intrinsic-size", "x-b")

    page = opened(many(1200), edit=without)
    line(page, "python", 1).click()
    page.locator("[data-column=kernel] [data-do=previous]").click()
    come_to_rest(page)
    assert in_view(page, "kernel", 1200) and len(lit(page)) == 401


def test_storage_may_be_switched_off(opened: Open) -> None:
    off = """Object.defineProperty(window, "localStorage", {
        get() { throw new DOMException("forbidden", "SecurityError"); } });"""
    page = opened(script=off)
    page.locator(".tclab-chooser").get_by_text("Dynamo").click()
    page.locator("[data-do=wrap]").click()
    line(page, "python", 6).click()
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
    line(page, "python", 6).click()
    come_to_rest(page)
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
