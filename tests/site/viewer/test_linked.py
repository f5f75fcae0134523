"""What a line lights, and how it is told."""

from __future__ import annotations

import pytest

from tclab.render.closure import Index
from tests.chromium import at_rest, until
from tests.site.viewer.chains import LONG, SECOND, chain
from tests.site.viewer.page import Open, in_view, line, lit, pin

pytestmark = pytest.mark.browser


def test_a_click_on_python_lights_every_stage_it_reaches(opened: Open) -> None:
    page = opened()
    pin(page, "python", 6)
    assert lit(page) == SECOND
    for pane, number in (("kernel-2", 2), ("ptx", LONG - 1), ("sass", LONG)):
        assert in_view(page, pane, number)
    line(page, "python", 6).click()
    assert lit(page) == [] and page.locator("[data-dimmed]").count() == 0


def test_the_last_stage_leads_back(opened: Open) -> None:
    page = opened()
    page.locator("[data-column=sass] .tclab-scroller").evaluate("box => box.scrollTop = 1e6")
    pin(page, "sass", LONG)
    assert lit(page) == [each for each in SECOND if each != f"ptx {LONG - 1}"]  # no sibling
    assert in_view(page, "sass", LONG) and in_view(page, "python", 6)


def test_pointing_previews_until_a_line_is_pinned(opened: Open) -> None:
    page = opened()
    line(page, "python", 5).hover()
    page.wait_for_selector(".linked")
    assert lit(page) == ["python 5", "dynamo 1", "kernel 1"]
    assert page.locator("[data-dimmed]").count() == 0
    page.locator("h1").hover()
    page.wait_for_selector(".linked", state="detached")
    pin(page, "python", 6)
    line(page, "python", 5).hover()
    at_rest(page)
    assert "python 5" not in lit(page) and "python 6" in lit(page)


def test_a_line_without_links_says_so(opened: Open) -> None:
    page = opened()
    pin(page, "kernel-2", 1)
    assert "line 1. No link is known" in page.locator(".tclab-said").inner_text()
    pin(page, "kernel-2", 2)
    assert "line 2. Linked lines: Python 1, " in page.locator(".tclab-said").inner_text()


def test_the_page_finds_what_the_chain_says(opened: Open) -> None:
    """Every line of a chain, clicked by script, lights what `Index.closure` has; and has the
    colours of the Python lines that `Index.owners` names."""
    small = chain(20)
    index = Index.from_chain(small)
    python = [i for i in range(3) if index.closure(i) != {i}]
    owners = dict(index.nearest_sources(python)) | {i: (i,) for i in python}
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
