"""Measure how large a whole model's report is, and how soon it can be used.

``PYTHONPATH=src python -m benchmarks.report_size [--target h200] [--runs 5] [NAME…]`` explains
the models of `tclab.workshop.catalog.models.whole`, writes each report as `tclab explain` does,
and opens it in a headless Chromium. Printed of each: megabytes; the milliseconds from the start of
the navigation to a viewer that answers (the fastest and the median of several loads); and those
from opening a stage that was closed to its lines. ``--plain`` writes the stages uncompressed.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from tclab.workshop.catalog.models.whole import MODELS

_OPENED = """async () => {
  const start = performance.now();
  const column = document.querySelector('[data-column=ptx], [data-column=post_grad]');
  const box = document.querySelector(`.tclab-chooser input[value=${column.dataset.column}]`);
  if (!box.checked) box.click();
  const pane = column.querySelector('.tclab-pane');
  pane.open = true;
  pane.scrollIntoView();
  while (!pane.querySelector('t-l')) {
    if (performance.now() - start > 20000) throw new Error('the stage does not open');
    await new Promise(requestAnimationFrame);
  }
  return performance.now() - start;
}"""


def report(name: str, target: str, *, plain: bool) -> str:
    """Return the page of one model's report."""
    from tclab.explain import explain
    from tclab.render.report import document

    model, args = MODELS[name]()
    with mock.patch.object(
        document, "COMPRESSED_FROM", float("inf") if plain else document.COMPRESSED_FROM
    ):
        return document.html(explain(model, [args], target=target))


def opened(browser: Any, path: Path) -> tuple[float, float]:
    """Return the milliseconds until the viewer answers, and until a stage's lines are there."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(path.as_uri(), wait_until="commit")
    page.wait_for_selector(".tclab-chain[data-live]", state="attached")
    usable = page.evaluate("performance.now()")
    stage = page.evaluate(_OPENED)
    page.close()
    return usable, stage


def figures(browser: Any, name: str, path: Path, runs: int) -> str:
    """Return a line on one page."""
    usable, stage = zip(*(opened(browser, path) for _ in range(runs)), strict=True)
    size = path.stat().st_size / 1e6
    return (
        f"{name:12} {size:6.2f} MB  usable {min(usable):6.0f} ms (median "
        f"{statistics.median(usable):.0f})  a stage {min(stage):6.0f} ms"
    )


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"{', '.join(MODELS)}, or HTML files")
    parser.add_argument("--target", default="h200")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    words = parser.parse_args()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=words.chromium)
        for name in words.names or MODELS:
            path = Path(name)
            if name in MODELS:
                path = Path(folder) / f"{name}.html"
                path.write_text(report(name, words.target, plain=words.plain), encoding="utf-8")
            print(figures(browser, path.stem, path, words.runs), flush=True)
        browser.close()


if __name__ == "__main__":
    main()
