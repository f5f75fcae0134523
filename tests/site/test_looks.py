"""How tables, proofs, charts and letters look, on a desktop, a phone and paper."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chromium import at_rest
from tests.site.test_site import UNFOLD

pytestmark = pytest.mark.browser

DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
FIND_OUT = "practice/find-out.html"
#: Pages of each kind that have to be read.
READ = (
    *("index.html", FIND_OUT, "pipeline/guards.html", "explorer/relu.html"),
    *("beliefs/index.html", "benchmarks/models.html", "benchmarks/roof.html"),
    *("reference/settings.html", "labs/lab4_code.html"),
)


def opened(tab: Any, url: str, viewport: dict[str, int] = DESKTOP, **options: Any) -> Any:
    page = tab(viewport=viewport, **options)
    page.goto(url, wait_until="load")
    at_rest(page)
    return page


# --------------------------------------------------------------------------- tables

#: Of each table of prose: padding left and right of a cell, alignment and weight of a heading,
#: whether it has a border.
STYLE = """() => Array.from(document.querySelectorAll("table.tclab-prose"), (table) => {
    const of = (name) => getComputedStyle(table.querySelector(name));
    const sides = (style) => [style.paddingLeft, style.paddingRight].map(parseFloat);
    return {
        cell: Math.min(...sides(of("tbody tr:nth-child(2) td:nth-child(2)"))),
        align: of("th").textAlign, weight: Number(of("th").fontWeight),
        border: parseFloat(getComputedStyle(table).borderTopWidth),
    };
})"""


@pytest.mark.parametrize("medium", ["screen", "print"])
@pytest.mark.parametrize("path", [FIND_OUT, "first-steps.html", "target-choices.html"])
def test_a_table_of_prose_looks_like_the_others(
    tab: Any, address: str, path: str, medium: str
) -> None:
    page = opened(tab, f"{address}/{path}")
    page.emulate_media(media=medium)
    styles = page.evaluate(STYLE)
    assert styles
    for style in styles:
        assert style["cell"] >= 6 and style["border"] > 0, style
        assert style["align"] in ("left", "start") and style["weight"] >= 600, style


def test_no_fact_lies_over_its_neighbour(tab: Any, address: str) -> None:
    page = opened(tab, f"{address}/practice/flex-attention.html")
    page.add_style_tag(content="* { content-visibility: visible !important }")
    wide = "all => all.filter(d => d.scrollWidth > d.clientWidth + 8).map(d => d.textContent)"
    facts = page.locator(".tclab-facts dd:visible")
    assert facts.count() > 5 and facts.evaluate_all(wide) == []


def test_on_a_phone_a_row_of_prose_keeps_its_distance(tab: Any, address: str) -> None:
    page = opened(tab, f"{address}/{FIND_OUT}", PHONE)
    rows = page.locator("table.tclab-prose tbody tr")
    sides = rows.evaluate_all(
        "rows => rows.map(r => { const s = getComputedStyle(r);"
        " return [s.paddingTop, s.paddingBottom, s.borderTopWidth].map(parseFloat) })"
    )
    assert len(sides) > 20
    assert all(top >= 6 and bottom >= 6 and line > 0 for top, bottom, line in sides)


def test_no_word_of_a_table_of_prose_is_broken(tab: Any, address: str) -> None:
    page = opened(tab, f"{address}/{FIND_OUT}", {"width": 1024, "height": 800})
    broken = page.evaluate("""() => {
        const text = document.createRange();
        const lines = (e) => { text.selectNodeContents(e); return new Set(
            Array.from(text.getClientRects(), (r) => Math.round(r.top))).size; };
        return Array.from(document.querySelectorAll("table.tclab-prose td code"))
            .filter((e) => /^[\\w.=]{2,24}$/.test(e.textContent) && lines(e) > 1)
            .map((e) => e.textContent);
    }""")
    assert broken == []


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_short_word_of_code_is_broken_at_its_hyphen(
    tab: Any, address: str, viewport: dict[str, int]
) -> None:
    page = opened(tab, f"{address}/benchmarks/which-mode.html", viewport)
    words = page.evaluate("""() => {
        const text = document.createRange();
        return Array.from(document.querySelectorAll("article :not(pre) > code"), (e) => {
            const at = e.textContent.indexOf("reduce-overhead");
            if (at < 0) return 0;
            text.selectNodeContents(e);
            return new Set(Array.from(text.getClientRects(), (r) => Math.round(r.top))).size;
        }).filter(Boolean);
    }""")
    assert len(words) > 2 and set(words) == {1}


def test_a_table_with_addresses_fits_beside_the_text(tab: Any, address: str) -> None:
    page = opened(tab, f"{address}/targets.html", DESKTOP)
    page.add_style_tag(content="* { content-visibility: visible !important }")
    cut = page.locator(".tclab-scroll").evaluate_all(
        "boxes => boxes.map(b => [b.scrollWidth - b.clientWidth, b.textContent.slice(0, 40)])"
    )
    assert cut and not [box for box in cut if box[0] > 4]  # less is a cell's padding


def test_on_a_phone_a_row_of_numbers_has_its_name_on_two_lines(tab: Any, address: str) -> None:
    page = opened(tab, f"{address}/practice/decoding.html", PHONE)
    rows = page.locator("table.tclab-table >> nth=0").locator("tbody tr")
    heights = rows.evaluate_all("rows => rows.map(r => r.getBoundingClientRect().height)")
    assert heights and max(heights) < 55, heights


def test_on_a_phone_the_crumbs_are_not_cut(tab: Any, address: str) -> None:
    page = opened(tab, f"{address}/changes/2.14.html", PHONE)
    cut = page.locator(".md-path").evaluate("e => e.scrollWidth - e.clientWidth")
    assert cut <= 0


ROW_IN_VIEW = """id => {
    const row = document.getElementById(id).getBoundingClientRect();
    const bottom = (e) => e?.checkVisibility() ? e.getBoundingClientRect().bottom : 0;
    const box = document.getElementById(id).closest(".tclab-entries");
    const above = [document.querySelector(".md-header"), box.querySelector("thead")].map(bottom);
    return [row.top, ...above, innerHeight];
}"""
ROWS = [
    ("graph-breaks", "graph-breaks-GB0170"), ("graph-breaks", "graph-breaks-GB0124"),
    ("settings", "dynamo-recompile_limit"), ("settings", "inductor-max_autotune"),
    ("settings", "inductor-triton-cudagraphs"), ("operators", "operators-aten-relu"),
]  # fmt: skip


def lies_in_view(page: Any, ident: str) -> None:
    page.wait_for_selector(f"#{ident}:target", state="visible")
    at_rest(page)
    at_rest(page)
    top, header, head, height = page.evaluate(ROW_IN_VIEW, ident)
    assert max(header, head) <= top + 1, (ident, top, header, head)
    assert top < height / 2, (ident, top)


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize(("name", "ident"), ROWS)
def test_a_link_to_a_row_shows_it_below_the_header(
    tab: Any, address: str, name: str, ident: str, viewport: dict[str, int]
) -> None:
    page = opened(tab, f"{address}/reference/{name}.html#{ident}", viewport)
    lies_in_view(page, ident)
    page.evaluate("scrollTo(0, 0)")
    page.evaluate("id => { location.hash = ''; location.hash = id; }", ident)
    lies_in_view(page, ident)


@pytest.mark.parametrize("name", ["max_autotune", "recompile_limit", "GB0170"])
def test_a_row_that_the_search_found_is_shown_below_the_header(
    tab: Any, address: str, name: str
) -> None:
    page = opened(tab, f"{address}/index.html")
    page.locator("input.md-search__input").focus()
    page.wait_for_function("window.tclabNames")
    page.locator("input.md-search__input").fill(name)
    page.locator(".tclab-names .md-search-result__link").first.click()
    page.wait_for_url("**/reference/*.html*#*")
    lies_in_view(page, page.url.rpartition("#")[2])


def test_the_wheel_over_a_reference_s_table_moves_the_page(tab: Any, address: str) -> None:
    page = opened(tab, f"{address}/reference/settings.html")
    page.mouse.move(700, 700)
    page.evaluate("document.querySelector('.tclab-entries').scrollIntoView()")
    for _ in range(5):
        before = page.evaluate("scrollY")
        page.mouse.wheel(0, 300)
        page.wait_for_function("before => scrollY > before + 200", arg=before)
    header, head = page.evaluate("""() => [document.querySelector(".md-header"),
        document.querySelector(".tclab-entries thead")].map((e) => e.getBoundingClientRect())""")
    assert head["top"] == pytest.approx(header["bottom"], abs=2)  # it stays in sight


@pytest.mark.parametrize("name", ["graph-breaks", "settings", "operators", "logs", "guards"])
@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_nothing_of_a_reference_is_cut_off(tab: Any, address: str, name: str, width: int) -> None:
    page = opened(tab, f"{address}/reference/{name}.html", {"width": width, "height": 900})
    cut = page.evaluate("""() => Array.from(document.querySelectorAll(".tclab-entries td"))
        .filter((cell) => cell.checkVisibility())
        .filter((cell) => cell.getBoundingClientRect().right > innerWidth
            || cell.scrollWidth > cell.clientWidth + 8)
        .map((cell) => cell.textContent)""")
    assert cut == []


#: The height that a row is guessed to have while it is off the screen, over the one it has.
GUESSED = """() => Array.from(document.querySelectorAll(".tclab-entries tbody tr"), (row) => {
    const guessed = row.getBoundingClientRect().height;
    row.style.contentVisibility = "visible";
    return [row.id, guessed / row.getBoundingClientRect().height];
})"""


@pytest.mark.parametrize("name", ["graph-breaks", "settings", "operators", "logs", "guards"])
def test_a_row_off_a_phone_s_screen_is_not_guessed_too_low(
    tab: Any, address: str, name: str
) -> None:
    """What overflows a row that is not laid out would lie below the next one's links."""
    page = opened(tab, f"{address}/reference/{name}.html", {"width": 412, "height": 823})
    assert [row for row in page.evaluate(GUESSED) if row[1] < 0.9] == []


def test_settings_that_matter_come_first(tab: Any, address: str) -> None:
    page = opened(tab, f"{address}/reference/settings.html")
    for box in page.locator(".tclab-entries").all():
        names = box.locator("tbody td:first-child").all_text_contents()
        assert not any(name.startswith("_") for name in names[:10]), names[:10]
    first = page.locator(".tclab-entries").first.locator("tbody td:first-child")
    assert "recompile_limit" in first.all_text_contents()[:12]


# --------------------------------------------------------------------------- sorting


SORTED = "names => [...names].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))"


def test_a_long_table_is_sorted_by_a_heading(tab: Any, address: str) -> None:
    page = opened(tab, f"{address}/benchmarks/models.html")
    page.evaluate(UNFOLD)
    table = page.locator(".tclab-table", has=page.locator("th", has_text="waits"))

    def cells(number: int) -> list[str]:
        return table.locator(f"tbody td:nth-child({number})").all_text_contents()

    names = cells(1)
    table.locator("th", has_text="eager").first.get_by_role("button").click()
    times = [float(text.replace(",", "")) for text in cells(4)]
    assert len(times) > 100 and times == sorted(times, reverse=True)
    table.locator("th", has_text="model").first.get_by_role("button").press("Enter")
    assert cells(1) == page.evaluate(SORTED, names)
    assert table.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    assert sorted(cells(1)) == sorted(names) and page.problems == []


def test_dashes_come_last_whichever_way(tab: Any, address: str) -> None:
    page = opened(tab, f"{address}/benchmarks/pays.html")
    page.evaluate(UNFOLD)
    head = page.locator("th", has_text="calls to break even")
    table = page.locator(".tclab-table", has=head)
    for _ in range(2):
        head.get_by_role("button").click()
        texts = table.locator("tbody td:nth-child(6)").all_inner_texts()
        dashes = [text == "–" for text in texts]
        assert any(dashes) and dashes == sorted(dashes)


def test_the_rows_of_a_reference_are_sorted_with_those_that_come_later(
    tab: Any, address: str
) -> None:
    page = opened(tab, f"{address}/reference/operators.html")
    box = page.locator(".tclab-entries").first
    box.locator("th").first.get_by_role("button").click()
    names = box.locator("tbody td:first-child").all_text_contents()
    assert len(names) > 3000 and names == page.evaluate(SORTED, names)
    assert page.problems == []


def test_without_a_script_a_table_has_plain_headings(tab: Any, address: str) -> None:
    page = tab(java_script_enabled=False)
    page.goto(f"{address}/benchmarks/models.html", wait_until="load")
    assert page.locator(".tclab-sort").count() == 0
    assert page.locator("th", has_text="eager").first.is_visible()


# --------------------------------------------------------------------------- proofs

#: Of each mark: what it is behind, how far, whether both are on one line, and what shows.
MARKS = """() => Array.from(document.querySelectorAll(".tclab-proof"))
    .filter((mark) => mark.previousElementSibling && mark.checkVisibility())
    .map((mark) => {
        let last = mark.previousElementSibling;
        while (last.matches(".tclab-proof")) last = last.previousElementSibling;
        const before = Array.from(last.getClientRects()).at(-1);
        const own = mark.getClientRects()[0] || mark.getBoundingClientRect();
        const style = getComputedStyle(mark), shown = getComputedStyle(mark, "::after");
        return { line: style.textDecorationLine, shown: shown.visibility, width: own.width,
            inline: shown.position === "static",
            gap: own.left - before.right, apart: Math.abs(own.bottom - before.bottom),
            block: mark.closest("p, li, td, summary").textContent.slice(0, 40) };
    })"""


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("path", ["pipeline/the-call.html", FIND_OUT])
def test_a_mark_hugs_its_word(tab: Any, address: str, path: str, viewport: dict[str, int]) -> None:
    page = opened(tab, f"{address}/{path}", viewport)
    marks = page.evaluate(MARKS)
    assert len(marks) > 20
    for mark in marks:
        assert mark["line"] == "none", mark
        assert abs(mark["gap"]) < 2 and mark["apart"] < 8, mark  # on the line of its word
        assert (mark["width"] < 16) if mark["inline"] else (mark["width"] < 2), mark


def shown(page: Any) -> list[str]:
    return [mark["block"] for mark in page.evaluate(MARKS) if mark["shown"] == "visible"]


def test_at_rest_a_paragraph_shows_one_mark_and_a_box_shows_all(tab: Any, address: str) -> None:
    page = opened(tab, f"{address}/pipeline/the-call.html")
    every = page.evaluate(MARKS)
    quiet = shown(page)
    assert len(quiet) < len(every) * 0.75
    paragraphs = page.locator(".md-content__inner > p:has(.tclab-proof ~ .tclab-proof)")
    paragraph = paragraphs.first
    assert paragraph.evaluate(ONE) == 1
    paragraph.hover()
    assert paragraph.evaluate(ONE) == paragraph.locator(".tclab-proof").count() > 1
    page.mouse.move(0, 0)
    page.get_by_label("show all").check()
    assert len(shown(page)) == len(every)
    page.reload()
    assert page.get_by_label("show all").is_checked()  # what was chosen stays


#: The marks of a paragraph that are seen.
ONE = """p => Array.from(p.querySelectorAll(":scope > .tclab-proof"))
    .filter((mark) => getComputedStyle(mark, "::after").visibility === "visible").length"""


def test_the_keyboard_reaches_each_mark_once_all_are_shown(tab: Any, address: str) -> None:
    page = tab(viewport=DESKTOP, java_script_enabled=False)
    page.goto(f"{address}/pipeline/the-call.html", wait_until="load")
    mark = page.locator(".tclab-proof:has(~ .tclab-proof)").nth(3)
    focused = "e => { e.focus(); return document.activeElement === e; }"
    assert not mark.evaluate(focused)  # a hundred stops on the way to the page's end
    page.get_by_label("show all").press("Space")
    assert mark.evaluate(focused)


def test_paper_has_the_quiet_marks(tab: Any, address: str) -> None:
    page = opened(tab, f"{address}/pipeline/the-call.html")
    on_screen = shown(page)
    page.emulate_media(media="print")  # answers that are folded are printed, too
    assert {*on_screen} <= {*shown(page)} and len(shown(page)) < len(page.evaluate(MARKS)) * 0.75


# --------------------------------------------------------------------------- charts

CHARTS = """() => Array.from(document.querySelectorAll("svg[class^=tclab-chart]"))
    .filter((svg) => svg.checkVisibility())
    .map((svg) => {
        const box = svg.getBoundingClientRect(), room = svg.parentElement.getBoundingClientRect();
        const letters = Array.from(svg.querySelectorAll("text"), (t) =>
            parseFloat(getComputedStyle(t).fontSize) * box.width / svg.viewBox.baseVal.width);
        const inside = Array.from(svg.querySelectorAll("text"), (t) => t.getBoundingClientRect())
            .every((t) => t.left >= box.left - 2 && t.right <= box.right + 2);
        return { fits: box.right <= Math.min(innerWidth, room.right + 1), inside,
            least: Math.min(...letters) };
    })"""


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", ["roof", "pays", "models", "systems", "compile-time"])
def test_a_chart_fits_its_screen_in_letters_that_are_read(
    tab: Any, address: str, name: str, viewport: dict[str, int]
) -> None:
    page = opened(tab, f"{address}/benchmarks/{name}.html", viewport)
    page.add_style_tag(content="* { content-visibility: visible !important }")
    charts = page.evaluate(CHARTS)
    assert charts
    for chart in charts:
        assert chart["fits"] and chart["inside"] and chart["least"] >= 11.5, chart


@pytest.mark.parametrize("name", ["systems", "models"])
def test_a_page_of_numbers_begins_with_its_picture(tab: Any, address: str, name: str) -> None:
    page = opened(tab, f"{address}/benchmarks/{name}.html")
    first = page.evaluate("""() => {
        const all = document.querySelectorAll(".md-content .tclab-chart, .md-content .tclab-table");
        return all[0].matches(".tclab-chart") && all[0].getBoundingClientRect().top < innerHeight;
    }""")
    assert first


# --------------------------------------------------------------------------- letters

#: The letters of the full lines of paragraphs; a line that ends one is shorter.
LINES = """() => {
    const counts = [];
    for (const p of document.querySelectorAll(".md-content__inner > :is(p, ul)")) {
        if (!p.checkVisibility() || p.matches(".tclab-see, .tclab-stamp")) continue;
        const words = document.createTreeWalker(p, NodeFilter.SHOW_TEXT), lines = new Map();
        for (let node; (node = words.nextNode());) {
            if (node.parentElement.closest("code")) continue;
            const range = document.createRange();
            for (let i = 0; i < node.length; i++) {
                range.setStart(node, i); range.setEnd(node, i + 1);
                const box = range.getBoundingClientRect();
                if (!box.width) continue;
                const top = Math.round(box.bottom / 8);
                lines.set(top, (lines.get(top) || 0) + 1);
            }
        }
        const all = [...lines.values()].slice(0, -1);
        if (!p.querySelector("code") && p.matches("p")) counts.push(...all);
    }
    return counts;
}"""


@pytest.mark.parametrize("path", ["pipeline/guards.html", "practice/numerics.html"])
def test_a_line_of_prose_has_65_to_80_letters(tab: Any, address: str, path: str) -> None:
    page = opened(tab, f"{address}/{path}")
    counts = page.evaluate(LINES)
    assert len(counts) >= 3
    assert 65 <= sum(counts) / len(counts) <= 80, counts
    assert max(counts) < 95, counts


#: Words that are smaller than 12 px.
SMALL = """() => {
    const content = document.querySelector(".md-content");
    const words = document.createTreeWalker(content, NodeFilter.SHOW_TEXT);
    const small = new Set();
    for (let node; (node = words.nextNode());) {
        const e = node.parentElement;
        if (!node.data.trim() || e.closest("svg, noscript, [hidden]")) continue;
        if (!e.checkVisibility({ visibilityProperty: true })) continue;
        const size = parseFloat(getComputedStyle(e).fontSize);
        const name = `${e.tagName}.${e.className}: ${size}px ${node.data.trim().slice(0, 30)}`;
        if (size < 11.95) small.add(name);
    }
    return Array.from(small).slice(0, 20);
}"""


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("path", READ)
def test_nothing_that_is_read_is_below_12_px(
    tab: Any, address: str, path: str, viewport: dict[str, int]
) -> None:
    page = opened(tab, f"{address}/{path}", viewport)
    assert page.evaluate(SMALL) == []


def test_headings_have_three_ranks(tab: Any, address: str) -> None:
    page = opened(tab, f"{address}/pipeline/graph-breaks.html")
    sizes = page.evaluate("""() =>
        ["h1", "h2", "h3", ".tclab-snippet > .tclab-title", "p > strong"]
        .map((name) => getComputedStyle(document.querySelector(`.md-content ${name}`)))
        .map((style) => [parseFloat(style.fontSize), Number(style.fontWeight)])""")
    (h1, *_), (h2, *_), (h3, *_), (caption, *_), (lead, *_) = sizes
    assert h1 >= 1.2 * h2 and h2 >= 1.2 * h3 and h3 >= 1.1 * max(caption, lead), sizes
    assert all(weight >= 600 for _, weight in sizes[:3]), sizes
