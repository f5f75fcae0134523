"""The report in a real Chromium, on a desk and on a phone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tclab.model import Gap
from tclab.render.report import document

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
        refusal=Gap("place" * 60, "cause" * 60, "step" * 60),
        target="NVIDIA " + "H" * 100,
        warnings=("w" * 300,),
    )


@pytest.mark.parametrize("width", [PHONE, 800, 1280])
def test_nothing_is_wider_than_the_window(shown, broken, skipped, width):
    for report in (broken, skipped, long(broken)):
        assert too_wide(shown(report, width)) == 0


def test_versions_counts_and_the_first_kernel_are_on_the_first_screen(shown, broken):
    opened = shown(broken)
    for selector in (".tclab-stamp", ".explain-lead", ".explain-kernels td a"):
        box = opened.locator(selector).first.bounding_box()
        assert box is not None and box["y"] + box["height"] < 800


def test_a_kernel_leads_to_its_code_though_its_graph_is_folded(shown, broken):
    opened = shown(broken)
    names = opened.locator(".explain-kernels td a[href^='#chain']")
    names.nth(names.count() - 1).click()
    opened.locator("#graph2[open]").wait_for()
    opened.locator("#chain2-cpp").wait_for()
