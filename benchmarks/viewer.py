"""``python -m benchmarks.viewer [REPORT.html]``: how fast the viewer answers, in Chromium.

Two reports: a made-up chain of 2,000 lines (or --lines), and the file given, if any, such as one
that ``tclab explain`` wrote. For each: its size; the time until it can be used (navigation start
to the script's end, and to the first frame after it); and, over lines spread through all panes,
the time from a click to its highlight's frame. Medians and the worst, in milliseconds.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tclab import render  # noqa: E402
from tclab.model import Chain, Listing  # noqa: E402
from tclab.render import standalone  # noqa: E402

STAGES = ("python", "dynamo", "forward", "post_grad", "ir", "kernel", "ttir", "llir", "ptx", "sass")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
LOADS, CLICKS = 5, 40

#: The script has ended when the first chain is live; then one more frame is painted.
READY = """() => new Promise((resolve) => {
    const wait = () => document.querySelector(".tclab-live")
        ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
        : setTimeout(wait, 1);
    wait();
})"""

#: From the click to its classes, and to the end of the frame that paints them.
CLICK = """(i) => new Promise((resolve) => {
    const lines = Array.from(document.querySelectorAll(".tclab-column:not([hidden]) "
        + ".tclab-pane[open] [data-line]"));
    const line = lines[Math.floor(i * lines.length)];
    const start = performance.now();
    line.click();
    const classes = performance.now() - start;
    requestAnimationFrame(() => setTimeout(() => {
        const linked = document.querySelectorAll(".linked").length;
        resolve([classes, performance.now() - start, linked]);
    }));
})"""


def synthetic(lines: int) -> Chain:
    """A chain of `lines` lines: each stage is twice as long as the one before, as real ones are."""
    weights = [2**i for i in range(len(STAGES))]
    counts = [max(1, lines * weight // sum(weights)) for weight in weights]
    panes, before = [], 0
    for stage, count in zip(STAGES, counts, strict=True):
        links = {}
        if before:
            above = panes[-1].stage
            links = {n: (f"{above}:{1 + (n - 1) * before // count}",) for n in range(1, count + 1)}
        marks = {n: (f"{stage}:{n}",) for n in range(1, count + 1)}
        code = "".join(f"tmp{n} = {stage}.add(tmp{n - 1}, 0x{n:04x})\n" for n in range(count))
        panes.append(Listing(stage, stage, code, "python", stage, links=links, marks=marks))
        before = count
    return Chain(f"{lines:,} lines", "chain", tuple(panes))


def loads(browser: Any, address: str) -> Iterator[float]:
    """Milliseconds from the start of the navigation to a page that answers."""
    for _ in range(LOADS):
        page = browser.new_page(viewport={"width": 1500, "height": 900})
        page.goto(address, wait_until="commit")
        yield page.evaluate(READY)
        page.close()


def clicks(browser: Any, address: str) -> Iterator[tuple[float, float, int]]:
    """(to classes, to the frame, lines linked) of lines spread over the open panes."""
    page = browser.new_page(viewport={"width": 1500, "height": 900})
    page.goto(address)
    page.evaluate(READY)
    for i in range(CLICKS):
        yield page.evaluate(CLICK, (i * 17 % CLICKS) / CLICKS)
    page.close()


def measure(browser: Any, path: Path) -> None:
    """Print one report's figures."""
    ready = list(loads(browser, path.as_uri()))
    found = list(clicks(browser, path.as_uri()))
    print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
    print(f"  usable: median {statistics.median(ready):.0f} ms, worst {max(ready):.0f} ms")
    for what, column in (("classes set", 0), ("painted", 1)):
        times = [each[column] for each in found]
        print(f"  click to {what}: median {statistics.median(times):.1f} ms, "
              f"worst {max(times):.1f} ms")  # fmt: skip
    print(f"  lines linked: at most {max(each[2] for each in found):,}")


def main() -> int:
    """Measure a made-up chain, then the reports given."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(prog="python -m benchmarks.viewer", description=__doc__)
    parser.add_argument("reports", nargs="*", type=Path, metavar="REPORT.html")
    parser.add_argument("--lines", type=int, default=2000, help="of the made-up chain")
    chosen = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        parser.error("no Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        made = Path(folder) / f"made-up-{chosen.lines}.html"
        body = render.figure(synthetic(chosen.lines), prefix="c")
        made.write_text(standalone.page("Made up", body), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for path in (made, *chosen.reports):
            measure(browser, path.resolve())
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
