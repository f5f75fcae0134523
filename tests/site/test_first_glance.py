"""What a page must not look like: broken. Underscores that vanish, marks on letters, a heading that
is covered, a scroll bar that lies, parts that do not share an edge.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from tests.chromium import at_rest, comes
from tests.site.conftest import tabs

pytestmark = pytest.mark.browser

DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
GUARDS, REFERENCE = "pipeline/guards.html", "reference/operators.html"


@pytest.fixture(scope="module")
def seen(browser: Any, address: str) -> Iterator[Any]:
    """A function that shows a page in one tab: each page is loaded once for several tests."""
    with browser.limited(), tabs(browser) as open_tab:
        page = open_tab(viewport=DESKTOP)

        def show(path: str) -> Any:
            if page.url != f"{address}/{path}":
                page.goto(f"{address}/{path}", wait_until="load")
                at_rest(page)
            return page

        yield show


# --------------------------------------------------------------------------- letters

#: The first underscore of a link in each style, as [link, node of its text, place in it].
UNDERSCORES = """() => {
    const found = new Map();
    for (const link of document.querySelectorAll(".md-content a:not(svg *, .tclab-listing *)")) {
        if (!link.checkVisibility()) continue;
        const line = getComputedStyle(link).textDecorationLine;
        const nodes = document.createTreeWalker(link, NodeFilter.SHOW_TEXT);
        for (let node; line === "underline" && (node = nodes.nextNode());) {
            const place = node.data.indexOf("_"), style = getComputedStyle(node.parentElement);
            const key = style.fontFamily + style.fontSize;
            if (place >= 0 && !found.has(key)) found.set(key, [node, place]);
        }
    }
    window.tclabUnderscores = [...found.values()];
    return found.size;
}"""

#: A column of the window, from the middle of such an underscore to below its line.
BELOW = """(number) => {
    const [node, place] = window.tclabUnderscores[number], text = document.createRange();
    node.parentElement.scrollIntoView({ block: "center", behavior: "instant" });
    text.setStart(node, place);
    text.setEnd(node, place + 1);
    const { x, y, width, height } = text.getBoundingClientRect();
    return { x: x + width / 2, y: y + height / 2, width: 1, height: height / 2 + 6 };
}"""


def runs_of_ink(png: bytes) -> int:
    """Return the number of separate dark runs from top to bottom of a column of pixels."""
    column = Image.open(io.BytesIO(png)).convert("L").tobytes()
    ink = [max(column) - value > 40 for value in column]
    return sum(now and not before for before, now in zip([False, *ink], ink))


@pytest.mark.parametrize(
    "path", [GUARDS, "practice/flex-attention.html", "target-choices.html", REFERENCE]
)
def test_an_underscore_of_a_link_is_seen_above_its_line(seen: Any, path: str) -> None:
    page = seen(path)
    styles = page.evaluate(UNDERSCORES)
    assert styles
    for style in range(styles):
        # What has come into view may move it once more, and is drawn a little later.
        assert comes(
            lambda n=style: runs_of_ink(page.screenshot(clip=page.evaluate(BELOW, n))) == 2
        ), style


# --------------------------------------------------------------------------- marks of proof

PROVEN = ".md-content__inner > p:has(.tclab-proof ~ .tclab-proof)"
#: What a paragraph gives to the clipboard.
COPIED = """p => {
    getSelection().selectAllChildren(p);
    return getSelection().toString();
}"""
#: Of each mark that is seen: how far it reaches over the letter behind it.
OVER = """() => {
    const text = document.createRange();
    const marks = Array.from(document.querySelectorAll(".tclab-proof"))
        .filter((mark) => mark.checkVisibility() && mark.nextSibling?.data)
        .filter((mark) => getComputedStyle(mark, "::after").position === "static");
    return marks.map((mark) => {
        text.setStart(mark.nextSibling, 0);
        text.setEnd(mark.nextSibling, 1);
        const next = text.getBoundingClientRect(), own = mark.getBoundingClientRect();
        return { width: own.width, over: next.top < own.bottom ? own.right - next.left : 0 };
    });
}"""


def test_a_paragraph_is_copied_without_its_marks(seen: Any) -> None:
    copied = seen(GUARDS).locator(PROVEN).first.evaluate(COPIED)
    assert "becomes a check, a guard. Compiled code with its guards is a cache entry" in copied


def test_a_screen_reader_says_the_marks_that_were_asked_for(seen: Any) -> None:
    page = seen(GUARDS)
    links = page.locator(".md-content__inner").get_by_role("link")
    assert not [name for name in links.all_text_contents() if "proof" in name]
    marks = page.locator(".md-content__inner").get_by_role("link", name="proof: ")
    assert marks.count() == 0
    page.get_by_label("show all").check()
    names = [mark.get_attribute("aria-label") for mark in marks.all()]
    page.get_by_label("show all").uncheck()
    assert len(names) > 40 and "proof: the newest first" in names


def test_no_mark_lies_on_the_next_letter(seen: Any) -> None:
    marks = seen(GUARDS).evaluate(OVER)
    assert len(marks) > 15
    assert all(mark["width"] > 5 and mark["over"] < 1 for mark in marks), marks


# --------------------------------------------------------------------------- the page

#: What lies on the line of a heading, from its left to its right.
ON_TOP = """h => {
    const { left, right, top, height } = h.getBoundingClientRect();
    const at = (x) => document.elementFromPoint(x, top + height / 2);
    return [...Array(20).keys()].map((n) => at(left + (right - left) * n / 20))
        .filter((e) => !h.contains(e)).map((e) => e.className);
}"""


def test_a_heading_that_a_link_leads_to_is_not_covered(seen: Any) -> None:
    page = seen(GUARDS)
    page.evaluate("scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })")
    at_rest(page)
    page.evaluate("location.hash = 'one-call-after-the-other'")  # back up
    at_rest(page)
    heading = page.locator("h2:target")
    assert heading.evaluate(ON_TOP) == []


#: The left edges of the logo, the first tab, and the navigation or the title.
EDGES = """() => [".md-logo > *", ".md-tabs__item:first-child a",
    ".md-sidebar--primary:not([hidden]) .md-nav__link:not(.md-nav__item--section > *)", "h1"]
    .map((name) => Array.from(document.querySelectorAll(name)).find((e) => e.checkVisibility()))
    .filter(Boolean).slice(0, 3).map((e) => Math.round(e.getBoundingClientRect().left))"""


@pytest.mark.parametrize("path", ["index.html", "explorer/relu.html", REFERENCE, GUARDS])
def test_logo_tabs_and_text_share_an_edge(seen: Any, path: str) -> None:
    edges = seen(path).evaluate(EDGES)
    assert len(edges) == 3 and max(edges) - min(edges) <= 1, edges
    assert edges[0] == (DESKTOP["width"] - 68 * 20) // 2 + 16  # on every page the same


#: The page's height where all is laid out.
WHOLE = """() => {
    const whole = document.createElement("style");
    whole.textContent = "* { content-visibility: visible !important }";
    document.head.append(whole);
    const height = document.documentElement.scrollHeight;
    whole.remove();
    return height;
}"""


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("path", ["pipeline/triton.html", "reference/logs.html"])
def test_the_scroll_bar_is_right_once_a_page_is_at_rest(
    tab: Any, address: str, path: str, viewport: dict[str, int]
) -> None:
    page = tab(viewport=viewport)
    page.goto(f"{address}/{path}", wait_until="load")
    height = page.evaluate(WHOLE)
    shown = "document.documentElement.scrollHeight"
    assert comes(lambda: abs(page.evaluate(shown) / height - 1) < 0.03)


#: The tables of few columns that are wider than their box.
CUT = """() => Array.from(document.querySelectorAll(".md-content .tclab-scroll"))
    .filter((box) => box.checkVisibility() && !box.querySelector("th:nth-child(5)"))
    .map((box) => [box.scrollWidth - box.clientWidth, box.textContent.slice(0, 40)])"""


@pytest.mark.parametrize("path", ["changes/2.14.html", "pipeline/caches.html"])
def test_on_a_phone_a_table_of_four_columns_shows_them_all(
    tab: Any, address: str, path: str
) -> None:
    page = tab(viewport=PHONE)
    page.goto(f"{address}/{path}", wait_until="load")
    page.add_style_tag(content="* { content-visibility: visible !important }")
    tables = page.evaluate(CUT)
    assert tables and not [table for table in tables if table[0] > 1]


def test_home_s_first_screen_has_no_empty_strip(seen: Any) -> None:
    ends = seen("index.html").evaluate("""() => Array.from(
        document.querySelectorAll(".tclab-hero > div > *"))
        .map((e) => [e.parentElement === e.closest(".tclab-hero").firstElementChild,
            e.getBoundingClientRect().bottom])""")
    words, chart = (max(end for left, end in ends if left is side) for side in (True, False))
    assert abs(words - chart) < 40, (words, chart)


def test_a_row_s_links_stand_beside_its_long_text(seen: Any) -> None:
    boxes = seen("reference/graph-breaks.html").evaluate("""() => Array.from(
        document.querySelector("#graph-breaks-GB0007").cells, (e) => {
            const { top, bottom, left, right } = e.getBoundingClientRect();
            return { top, bottom, left, right };
        })""")
    text, links = boxes[2], boxes[-1]
    assert text["right"] <= links["left"] + 1 and text["top"] < links["bottom"], boxes


def test_on_a_phone_code_begins_where_the_text_does(tab: Any, address: str) -> None:
    page = tab(viewport=PHONE)
    page.goto(f"{address}/practice/profiler.html", wait_until="load")
    lefts = page.evaluate("""() => ["h1 ~ p", "h1 ~ .highlight"].map((name) =>
        document.querySelector(name).getBoundingClientRect().left)""")
    assert abs(lefts[0] - lefts[1]) < 1, lefts
