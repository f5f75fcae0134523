"""The report in a real Chromium, on a desk and on a phone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tclab.model import KernelRow, Problem, rows_of_chains
from tclab.render.report import document
from tests.site.viewer.chains import kernels

pytestmark = pytest.mark.browser

PHONE = 390


@pytest.fixture
def shown(tab, tmp_path):
    """Opens a report in a window of some width."""

    def open_report(report, width=1280):
        path = tmp_path / "report.html"
        path.write_text(document.html(report), encoding="utf-8")
        opened = tab(width)
        opened.goto(path.as_uri())
        return opened

    return open_report


def too_wide(opened) -> int:
    """Pixels by which the page is wider than the window."""
    return opened.evaluate("document.documentElement.scrollWidth - innerWidth")


def long(report):
    """The same report with a title, a hint and a kernel that do not end."""
    row = replace(report.kernels[0], name="triton_" + "fused_" * 40)
    item = replace(report.breaks.breaks[0], hints=("torch." + "config" * 60,))
    return replace(
        report,
        title="T" * 200,
        calls=("f32[" + "8, " * 100 + "8]",),
        remarks=("r" * 200,),
        kernels=(row, *report.kernels),
        breaks=replace(report.breaks, breaks=(item,)),
        chains=(),
        fault="f" * 200,
        refusal=Problem("place" * 60, "cause" * 60, "step" * 60),
        target="NVIDIA " + "H" * 100,
        warnings=("w" * 300,),
    )


@pytest.mark.parametrize("width", [PHONE, 800, 1280])
def test_nothing_is_wider_than_the_window(shown, broken, skipped, width):
    for report in (broken, skipped, long(broken)):
        assert too_wide(shown(report, width)) == 0


@pytest.mark.parametrize("width", [PHONE, 1280])
def test_verdict_versions_and_what_to_do_are_on_the_first_screen(shown, broken, width):
    opened = shown(broken, width)
    for selector in (".explain-lead", ".tclab-stamp", ".explain-findings > li"):
        box = opened.locator(selector).first.bounding_box()
        assert box is not None and box["y"] + box["height"] < 800, selector


def test_the_reader_s_lines_are_in_no_box_that_scrolls(shown, broken):
    long = replace(broken.sources[0], code="y = 1\n" * 100, compiled={})
    opened = shown(replace(broken, sources=(long,)))
    heights = "code => [code.scrollHeight, code.clientHeight]"
    whole, seen = opened.locator(".explain-source pre > code").first.evaluate(heights)
    assert whole == seen > 1500


def test_each_warning_is_an_item_and_its_lines_are_lines(shown, broken):
    opened = shown(replace(broken, warnings=("W1 one\nW1 two", "W2 three")))
    opened.locator("summary", has_text="Warnings").click()
    items = opened.locator(".explain-warnings > li")
    assert items.all_inner_texts() == ["W1 one\nW1 two", "W2 three"]


def test_a_link_to_a_fold_opens_it(shown, broken):
    opened = shown(broken)
    assert opened.locator("#guards").is_hidden()
    opened.locator(".explain-contents a[href='#guards']").click()
    opened.locator("#guards").wait_for()


def test_a_kernel_opens_with_its_own_instructions(shown, broken):
    chain = kernels()
    opened = shown(replace(broken, chains=(chain,), kernels=rows_of_chains((chain,))), 1500)
    opened.locator(".explain-kernels td a", has_text="triton_2").click()
    opened.locator("#chain0-sass-3[open] .linked").wait_for()
    open_panes = opened.locator(".tclab-pane[data-stage=sass][open]")
    assert open_panes.evaluate_all("all => all.map((pane) => pane.id)") == ["chain0-sass-3"]


def test_a_kernel_leads_to_its_code_though_its_graph_is_folded(shown, broken):
    opened = shown(broken)
    opened.locator("summary", has_text="of graphs that later calls compiled").click()
    names = opened.locator(".explain-kernels td a[href^='#chain']")
    names.nth(names.count() - 1).click()
    opened.locator("#graph2[open]").wait_for()
    opened.locator("#chain2-cpp").wait_for()


def many_kernels(report, count):
    """The same report with so many rows: the dearest first moves the most bytes."""
    rows = [KernelRow(f"triton_{n}", "reduction" if n % 2 else "pointwise", bytes=2 ** (n % 30),
                      least=1e-6 * (count - n), graph=0) for n in range(count)]  # fmt: skip
    calls = [KernelRow("extern_kernels.mm", "extern", operations=2 * 10**9, bytes=4, graph=0)]
    return replace(report, kernels=(*rows, *calls), chains=())


def names(opened) -> list[str]:
    """The first cells of the rows one sees. Rows that wait for a search in the page have a size."""
    return opened.locator(".explain-kernels tbody tr").evaluate_all(
        "rows => rows.filter(row => row.checkVisibility()).map(row => row.cells[0].innerText)"
    )


def test_the_kernels_of_a_call_are_filtered_and_have_totals(shown, broken):
    opened = shown(many_kernels(broken, 30))
    table = opened.locator(".explain-kernels")
    assert table.locator("output").inner_text() == "31 of 31"
    assert table.locator("thead td").all_inner_texts()[:1] == ["total"]
    assert "2 G" in table.locator("thead td.tclab-num").nth(2).inner_text()
    table.locator("input").fill("library")
    assert names(opened) == ["extern_kernels.mm"]
    assert table.locator("output").inner_text() == "1 of 31"
    assert "2 G" in table.locator("thead td.tclab-num").nth(2).inner_text()


def test_bytes_are_sorted_by_their_number(shown, broken):
    opened = shown(many_kernels(broken, 30))
    opened.locator(".explain-kernels th button", has_text="bytes moved").click()
    assert names(opened)[:2] == ["triton_29", "triton_28"] and names(opened)[-1] == "triton_0"


def test_the_later_rows_of_a_long_table_come_when_asked_for(shown, broken):
    opened = shown(many_kernels(broken, 300))
    table = opened.locator(".explain-kernels")
    table.locator("button", has_text="Show all 301 rows").wait_for()  # the script has run
    assert len(names(opened)) == 20 and table.locator("output").inner_text() == "301 of 301"
    opened.evaluate("window.dispatchEvent(new Event('scroll'))")  # the sign to make the others
    table.locator("tbody tr").nth(20).wait_for(state="attached")  # made when nothing else is to do
    assert len(names(opened)) == 20
    table.locator("button", has_text="Show all 301 rows").click()
    assert len(names(opened)) == 301 and names(opened)[:2] == ["triton_0", "triton_1"]
    table.locator("input").fill("triton_299")
    assert names(opened) == ["triton_299"]


@pytest.mark.parametrize("width", [PHONE, 1280])
def test_a_long_table_of_kernels_is_no_wider_than_the_window(shown, broken, width):
    opened = shown(many_kernels(broken, 300), width)
    opened.locator(".explain-kernels button", has_text="Show all").click()
    assert too_wide(opened) == 0
