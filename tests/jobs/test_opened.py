"""The page of a job in a browser: a compile is laid out when the reader unfolds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tclab.render.job import page
from tests.jobs.test_stages import compiled, opened

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
OPTIONS = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}

pytestmark = pytest.mark.browser

#: How much the page moves by itself.
SHIFTS = """
    window.moved = 0;
    new PerformanceObserver((list) => {
        for (const e of list.getEntries()) if (!e.hadRecentInput) window.moved += e.value;
    }).observe({type: "layout-shift", buffered: true});
"""
FOLD = "details.explain-chain"


@pytest.fixture(scope="module")
def job_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a job with 300 graphs, of which none are equal."""
    folder = tmp_path_factory.mktemp("job")
    job = opened(folder, *(compiled(n, relu=f"relu_{n}") for n in range(300)))
    file = folder / "job.html"
    file.write_text(page.html(job), encoding="utf-8")
    return file


def test_a_compile_is_laid_out_when_it_is_unfolded(tab: Any, job_page: Path) -> None:
    shown = tab(1500, 900)
    shown.add_init_script(SHIFTS)
    shown.goto(job_page.as_uri())
    assert shown.locator(".tclab-chain").count() == 0
    assert shown.evaluate("document.querySelectorAll('*').length") < 12_000
    shown.locator(f"{FOLD} > summary").nth(2).click()
    shown.wait_for_selector(".tclab-chain[data-live]")
    assert shown.locator(".tclab-chain").count() == 1
    shown.locator(".tclab-pane[data-stage=python] t-l", has_text="y = x.relu_2()").click()
    lit = shown.locator(".tclab-pane:not([data-stage=python]) t-l.linked")
    lit.first.wait_for(state="attached")
    assert "triton_poi_fused_relu_2_0(in_ptr0)" in " ".join(lit.all_text_contents())
    coloured = shown.locator(".tclab-pane[data-stage=forward] t-l .tclab-type")
    coloured.first.wait_for(state="attached")
    assert shown.evaluate("window.moved") == 0


def test_a_link_opens_the_compile(tab: Any, job_page: Path) -> None:
    shown = tab(1500, 900)
    shown.goto(f"{job_page.as_uri()}#stages-250")
    shown.wait_for_selector(".tclab-chain[data-live]")
    assert "relu_250" in shown.locator(f"{FOLD}[open] > summary + div").text_content()
    box = shown.locator(f"{FOLD}[open]").bounding_box()
    assert -200 < box["y"] < 900


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_accessible(tab: Any, job_page: Path, dark: bool) -> None:
    shown = tab(390 if dark else 1440, 900)
    shown.emulate_media(color_scheme="dark" if dark else "light")
    shown.goto(job_page.as_uri())
    shown.locator(f"{FOLD} > summary").first.click()
    shown.wait_for_selector(".tclab-chain[data-live]")
    # of a chain's panes axe takes what is scrolled out of them for what lies above their buttons
    context = {"exclude": [[".tclab-chain"]]}
    found = Axe().run(shown, context, OPTIONS).response["violations"]
    assert {each["id"]: [node["html"][:150] for node in each["nodes"][:3]] for each in found} == {}
