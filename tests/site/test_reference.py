"""The reference: rows with ids and links, names by version, the field that filters."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest

from tclab.model import Table, Version
from tclab.render import calls, entries
from tclab.site.pages.reference import name_changes
from tclab.site.pages.reference.concordance import Concordance, names_in
from tclab.site.pages.reference.groups import Entry, Group
from tclab.site.pages.rendering import Page
from tclab.site.pages.site import search_names
from tclab.site.versions import name_lists
from tests.chromium import press
from tests.site.conftest import unpacked

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 300_000  # bytes of a page, compressed

TABLE = Table(
    title="Operators",
    name="operators",
    columns=("operator", "Inductor", "at"),
    rows=(
        ("aten.add.Tensor", "decomposes", "torch/_inductor/decomposition.py:555"),
        ("aten.<b>", None, None),
    ),
)

# --------------------------------------------------------------------------- rows


def test_a_row_has_an_id_its_links_and_its_versions() -> None:
    extra = entries.EntryNotes(
        {"aten.add.Tensor": "2.12–2.13"},
        {"aten.add.Tensor": [("../a.html#b", "A & B")]},
        torch_git="a" * 40,
    )
    html = entries.html(TABLE, extra)
    assert '<tr id="operators-aten-add-Tensor" style="--tall:' in html
    assert '<a href="../a.html#b">A &amp; B</a>' in html and "<td>2.12–2.13" in html
    assert f"/blob/{'a' * 40}/torch/_inductor/decomposition.py#L555" in html
    assert "<b>" not in html and "aten.&lt;b&gt;" in html


def test_columns_that_nothing_fills_are_left_out() -> None:
    html = entries.html(TABLE, entries.EntryNotes())
    assert "shown in" not in html and "in PyTorch" not in html
    assert "torch/_inductor/decomposition.py:555" in html  # no commit is known: no link


def test_those_that_the_book_shows_most_come_first_and_private_ones_last() -> None:
    names = ["_private", "a.b", "a._hidden", "often", "once"]
    table = Table("T", "t", columns=("name", "x"), rows=tuple((name, "") for name in names))
    extra = entries.EntryNotes(weights={"often": 9, "once": 1, "_private": 0})
    ids = re.findall(r'<tr id="t-([^"]+)"', entries.html(table, extra))
    assert ids == ["often", "once", "a-b", "_private", "a-_hidden"]


def test_lines_with_dashes_are_a_list() -> None:
    table = Table("T", "t", columns=("name", "x"), rows=(("a", "- one `two`\n- <three>"),))
    html = entries.html(table, entries.EntryNotes())
    assert "<ul><li>one <code>two</code></li><li>&lt;three&gt;</li></ul>" in html


def row_of(site: Path, identity: str) -> str:
    page = (site / "reference/graph-breaks.html").read_text("utf-8")
    return page.split(f'<tr id="graph-breaks-{identity}"', 1)[1].split("<tr ", 1)[0]


def test_a_break_s_row_has_the_hints_that_pytorch_prints(site: Path) -> None:
    branching = row_of(site, "GB0170")
    for words in ("making the code branchless", "torch.cond", "This graph break is fundamental"):
        assert words in branching
    assert "Detected data-dependent branching" in branching and "&quot; +" not in branching
    assert "Avoid calling the function" in row_of(site, "GB0007")
    everything = (site / "reference/graph-breaks.html").read_text("utf-8").split("<tr id=")[1:]
    hintless = [row for row in everything if "<ul><li>" not in row]
    assert len(everything) > 500 and len(hintless) < 80


def test_a_break_that_the_book_shows_is_there_before_and_after(site: Path) -> None:
    page = (site / "reference/graph-breaks.html").read_text("utf-8")
    assert 'href="#mended-GB0170">before and after</a>' in row_of(site, "GB0170")
    fold = page.split('id="mended-GB0170"', 1)[1].split("</details>", 1)[0]
    assert "an if on a tensor" in fold and "torch.cond" in fold
    text = re.sub(r"<[^>]+>", "", fold)
    assert "x.cos() if x.sum() &gt; 0 else x" in text and "torch.where(x.sum() &gt; 0" in text
    linked = set(re.findall(r'href="#mended-(GB\d+)"', page))
    assert linked == set(re.findall(r'id="mended-(GB\d+)"', page)) and len(linked) >= 20


def test_a_badge_in_a_chapter_leads_to_the_break_s_row(site: Path) -> None:
    rows = set(
        re.findall(
            r'<tr id="(graph-breaks-\w+)"',
            (site / "reference/graph-breaks.html").read_text("utf-8"),
        )
    )
    badges = [
        href
        for page in site.rglob("*.html")
        for href in re.findall(r'<a class="tclab-gb" href="([^"]+)"', page.read_text("utf-8"))
        if "explain/" not in str(page)
    ]
    assert len(badges) > 3
    assert {path.rpartition("/")[2] for path, _, _ in (b.partition("#") for b in badges)} == {
        "graph-breaks.html"
    }
    assert {badge.partition("#")[2] for badge in badges} <= rows


def test_every_id_is_there_once(site: Path) -> None:
    for page in sorted((site / "reference").glob("*.html")):
        ids = [part.split('"')[0] for part in page.read_text("utf-8").split('<tr id="')[1:]]
        assert len(ids) == len(set(ids)), page.name


def test_a_page_is_small(site: Path) -> None:
    for page in sorted((site / "reference").glob("*.html")):
        assert len(gzip.compress(page.read_bytes())) <= LIMIT, page.name


# --------------------------------------------------------------------------- where it is shown


@pytest.mark.parametrize(
    ("code", "found", "not_found"),
    [
        ("torch._dynamo.config.recompile_limit = 16", "recompile_limit", "dynamo"),
        ('TORCH_LOGS="+fusion,schedule"', "fusion", "FUSION"),
        ("torch.ops.aten.mm", "aten.mm", "mm"),
        ("cse = a_name", "a_name", "cse"),
        ("config.cse = True", "cse", "x"),
        ("GB0170", "GB0170", "GB"),
    ],
)
def test_names_in_code(code: str, found: str, not_found: str) -> None:
    there = set(names_in(code))
    assert found in there and not_found not in there


def test_the_places_that_show_a_name_most_are_kept() -> None:
    made = Concordance()
    for place in [("a.html", "A"), ("b.html", "B"), ("c.html", "C"), ("c.html", "C")]:
        made.add(["x"], place)
    assert made.best_places("x") == [("c.html", "C"), ("a.html", "A")]
    assert made.best_places("y") == []


# --------------------------------------------------------------------------- versions


def known(**tables: str) -> dict[str, frozenset[str]]:
    return {table: frozenset(text.split()) for table, text in tables.items()}


def test_names_are_written_as_changes_and_read_back(tmp_path: Path) -> None:
    all_versions = {
        "2.9": known(ops="a b", logs="l"),
        "2.10": known(ops="b c", logs="l"),  # after 2.9: versions are numbers
    }
    name_lists.write_lists(tmp_path, all_versions)
    assert (tmp_path / "2.10.txt").read_text() == "ops + c\nops - a\n"
    assert name_lists.read_lists(tmp_path) == all_versions
    assert list(name_lists.read_lists(tmp_path)) == ["2.9", "2.10"]
    having = name_lists.version_ranges("ops", frozenset("bc"), all_versions)
    assert having == {"c": "2.10"}  # b is in all of them: nothing to say


def test_a_default_is_a_change_only_where_both_versions_have_the_setting(tmp_path: Path) -> None:
    old, new = {"a.x = 1", "a.y = 'b = c'", "a.gone = 2"}, {"a.x = 3", "a.y = 'b = c'", "a.new = 4"}
    defaults = name_lists.DEFAULTS
    versions = {"1.0": {defaults: frozenset(old)}, "1.1": {defaults: frozenset(new)}}
    name_lists.write_lists(tmp_path, versions)
    listed = name_lists.read_lists(tmp_path)
    assert listed == versions
    assert name_lists.changed_defaults(*listed.values()) == {"a.x": ("1", "3")}
    change = name_lists.Change(defaults, ("a.x = 3",), ("a.x = 1",))
    commented = ({**each, name_lists.COMMENTS: frozenset({at})} for at, each in listed.items())
    assert name_lists.compare_names(*commented) == [change]  # another comment is no change
    shown = str(name_changes.html(listed))
    assert "<code>a.x = 3</code>" in shown and "a.new" not in shown and "a.gone" not in shown
    assert "0 new names, 0 gone, 1 defaults changed" in shown


def test_a_build_says_what_came_and_went_and_where_it_is_named() -> None:
    listed = {"2.13": known(ops="a b", logs="l"), "2.15": known(ops="z")}
    group = Group("ops", "Operators", "2.14", (Entry("b", ""), Entry("new", "")))
    where = Concordance({"a": {("pipeline/irs.html#x", "X"): 1}})
    assert list(name_changes.report_changes([group], listed, where)) == [
        "ops: 1 names new in 2.14, against 2.13",
        "    new",
        "ops: 1 names gone in 2.14, against 2.13",
        "    a  named in pipeline/irs.html#x",
    ]
    same = Group("ops", "Operators", "2.13", (Entry("a", ""), Entry("b", "")))
    assert list(name_changes.report_changes([same], listed, where)) == []


def test_the_installed_names_are_the_listed_ones(site: Path) -> None:
    """The build says what differs; for the version that the project is built with, nothing does."""
    listed = name_lists.read_lists(ROOT / "docs" / name_lists.FOLDER)
    groups = unpacked((site / "search" / "names.js").read_text("utf-8"))
    built = {g["prefix"].rstrip("-"): {entry[0] for entry in g["entries"]} for g in groups}
    newest = Version.parse(_torch()).short
    for table, wanted in listed[newest].items():
        if table in (name_lists.DEFAULTS, name_lists.COMMENTS):
            continue  # no page shows them whole
        assert built[table] == wanted, f"make names ({table})"


def _torch() -> str:
    from importlib.metadata import version

    return version("torch")


# --------------------------------------------------------------------------- the search's names


def test_names_are_a_script(tmp_path: Path) -> None:
    page = Page("docs/a.md", "a.html")
    page.groups.append(Group("graph-breaks", "Graph breaks", "", (Entry("GB1", "</x>"),)))
    chapters = Concordance(
        {"_orig_mod": {("a.html#b", "A"): 1}}, {"_orig_mod"}, {"E: x": ("c.html", "C")}
    )
    search_names.write_names(tmp_path, [page], chapters)
    text = (tmp_path / "names.js").read_text("utf-8")
    assert text.startswith('window.tclabPackedNames="') and text.endswith('";\n')
    groups = unpacked(text)
    entries = [entry for group in groups for entry in group["entries"]]
    assert ["_orig_mod", "A", "a.html#b"] in entries and ["C", "E: x", "c.html"] in entries
    assert groups[0]["prefix"] == "graph-breaks-" and groups[0]["entries"] == [["GB1", "</x>"]]


# --------------------------------------------------------------------------- in a browser


def rows(box: Any) -> int:
    return box.locator("tbody tr").count()


@pytest.mark.browser
def test_a_field_filters_the_rows(tab, address: str) -> None:
    opened = tab()
    opened.goto(f"{address}/reference/operators.html", wait_until="load")
    box = opened.locator(".tclab-entries").first
    field = box.get_by_label("Filter")
    field.focus()
    field.blur()
    all_rows = rows(box)
    assert all_rows > 3000
    field.fill("SOFTMAX hands")
    texts = box.locator("tbody tr").all_inner_texts()
    assert 0 < len(texts) < 20 and all("softmax" in t and "hands on" in t for t in texts)
    assert box.locator("output").inner_text() == f"{len(texts)} of {all_rows:,}"
    field.fill("")
    field.blur()
    assert rows(box) == all_rows and opened.problems == []


@pytest.mark.browser
def test_a_link_to_a_row_that_is_filtered_out_shows_it(tab, address: str) -> None:
    opened = tab()
    opened.goto(f"{address}/reference/operators.html", wait_until="load")
    box = opened.locator(".tclab-entries").first
    box.get_by_label("Filter").fill("gelu")
    opened.evaluate("location.hash = 'operators-aten-addmm'")
    opened.locator("#operators-aten-addmm").wait_for()
    assert box.get_by_label("Filter").input_value() == ""


@pytest.mark.browser
def test_without_a_script_it_is_a_table(tab, address: str) -> None:
    opened = tab(java_script_enabled=False)
    opened.goto(f"{address}/reference/graph-breaks.html#graph-breaks-GB0170", wait_until="load")
    assert opened.get_by_label("Filter").count() == 0
    assert "Data-dependent branching" in opened.locator("tr:target").inner_text()


@pytest.mark.browser
@pytest.mark.parametrize("how", ["server", "file"])
def test_a_name_is_found_and_leads_to_its_row(tab, address: str, site: Path, how: str) -> None:
    """Over file://, too, where nothing can be requested."""
    opened = tab()
    start = f"{address}/index.html" if how == "server" else (site / "index.html").as_uri()
    opened.goto(start, wait_until="load")
    opened.locator("input.md-search__input").focus()
    opened.wait_for_function("window.tclabNames")
    opened.locator("input.md-search__input").fill("capture_scalar_outputs")
    first = opened.locator(".tclab-names .md-search-result__link").first
    assert "torch._dynamo.config" in first.inner_text()
    opened.goto(first.get_attribute("href"))
    assert "capture_scalar_outputs" in opened.locator("tr:target").inner_text()


# --------------------------------------------------------------------------- a long table

HELD = "box => box.querySelectorAll('tbody[hidden] tr').length"
ELEMENTS = "box => box.querySelectorAll('tbody tr').length"
COMES = """box => new Promise(done => {
    const all = Number(box.querySelector('output').textContent.split(' of ')[1].replace(',', ''));
    const look = () => box.querySelectorAll('tbody tr').length === all ? done(all)
        : requestAnimationFrame(look);
    look();
})"""


@pytest.mark.browser
def test_a_long_table_starts_with_its_first_rows(tab: Any, address: str) -> None:
    page = tab()
    page.goto(f"{address}/reference/operators.html", wait_until="load")
    box = page.locator(".tclab-entries").first
    assert box.evaluate(ELEMENTS) == 50
    button = box.get_by_role("button", name="Show all")
    assert "Show all" in button.inner_text()
    press(button)
    assert box.evaluate(HELD) == 0 and button.count() == 0
    assert box.locator("tbody tr").count() > 3000 and page.problems == []


@pytest.mark.browser
def test_a_move_of_nothing_is_no_reader(tab: Any, address: str) -> None:
    """The browser sends one where a page loads under a pointer at rest, at whatever moment."""
    page = tab()
    page.goto(f"{address}/reference/operators.html", wait_until="load")
    box = page.locator(".tclab-entries").first
    page.evaluate("() => window.dispatchEvent(new PointerEvent('pointermove'))")
    page.wait_for_timeout(500)
    assert box.evaluate(ELEMENTS) == 50
    page.evaluate("() => window.dispatchEvent(new PointerEvent('pointermove', { movementX: 1 }))")
    assert box.evaluate(COMES) > 3000


@pytest.mark.browser
def test_the_other_rows_come_when_somebody_is_there(tab: Any, address: str) -> None:
    """As elements that are not laid out, in which the browser's own search looks."""
    page = tab()
    page.goto(f"{address}/reference/operators.html", wait_until="load")
    box = page.locator(".tclab-entries").first
    page.mouse.move(50, 50)
    rows_in_all = box.evaluate(COMES)
    assert rows_in_all > 3000 and box.evaluate(HELD) == rows_in_all - 50


@pytest.mark.browser
@pytest.mark.parametrize("how", ["address", "link"])
@pytest.mark.parametrize("there", [False, True], ids=["text", "element"])
def test_a_link_to_a_row_that_is_held_back_brings_it(
    tab: Any, address: str, how: str, there: bool
) -> None:
    page = tab()
    url, ident = f"{address}/reference/operators.html", "operators-aten-xlogy-Tensor"
    page.goto(f"{url}#{ident}" if how == "address" else url, wait_until="load")
    box = page.locator(".tclab-entries").first
    if there:
        page.mouse.move(50, 50)
        box.evaluate(COMES)
    if how == "link":
        page.evaluate("id => { location.hash = id; }", ident)
    page.wait_for_selector(f"#{ident}:target", state="visible")
    assert page.locator(f"#{ident}").bounding_box()["y"] < 800
    assert box.evaluate(HELD) == 0


def test_who_calls_whom_is_drawn_below_each_caller() -> None:
    drawn = calls.svg(
        [
            calls.CallNode("torch.a.f", None, "Dynamo", "torch/a.py:1"),
            calls.CallNode("torch.b.Graph.run", 0, "Inductor", "torch/b/<c>.py:22"),
        ],
        "Who",
        "b" * 40,
    )
    assert drawn.count("<circle") == 2 and drawn.count("<path") == 1
    assert ">f</text>" in drawn and ">Graph.run</text>" in drawn
    assert f"/blob/{'b' * 40}/torch/a.py#L1" in drawn
    assert "<c>" not in drawn
