"""Measure the viewer in Chromium: ``python -m benchmarks.viewer [--site SITE] [REPORT.html…]``.

A made-up chain of 2,000 lines (or --lines); the reports given, such as one that ``tclab explain``
wrote; with --site, every page of the explorer of a built site, served on the loopback. For each:
what it loads, compressed (gzip -6, each response by itself); how much its layout shifts while it
loads; how long the main thread is blocked (of each task what exceeds 50 ms); the time until it
can be used (navigation start to the first frame after the script); and, over lines spread through
all panes that are open, the time from a click to the frame that paints it. Medians and the worst.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gzip
import http.server
import shutil
import statistics
import sys
import tempfile
import threading
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

#: The script has ended when the first chain is live; one more frame is then painted.
READY = """() => new Promise((resolve) => {
    const wait = () => document.querySelector(".tclab-chain[data-live]")
        ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
        : setTimeout(wait, 1);
    wait();
})"""

#: The milliseconds from the click to its classes, and to the end of the frame that paints them.
CLICK = """(i) => new Promise((resolve) => {
    const lines = Array.from(document.querySelectorAll(".tclab-column:not([hidden]) "
        + ".tclab-pane[open] t-l"));
    const line = lines[Math.floor(i * lines.length)];
    const start = performance.now();
    line.click();
    const classes = performance.now() - start;
    requestAnimationFrame(() => setTimeout(() => {
        const linked = document.querySelectorAll(".linked").length;
        resolve([classes, performance.now() - start, linked]);
    }));
})"""

#: Started before the page: layout shifts without input, and the part of long tasks above 50 ms.
WATCH = """
    window.shifted = window.blocked = 0;
    new PerformanceObserver((list) => {
        for (const e of list.getEntries()) if (!e.hadRecentInput) window.shifted += e.value;
    }).observe({type: "layout-shift", buffered: true});
    new PerformanceObserver((list) => {
        for (const e of list.getEntries()) window.blocked += e.duration - 50;
    }).observe({type: "longtask", buffered: true});
"""


def synthetic(lines: int) -> Chain:
    """Return a chain of `lines` lines, in which each stage is twice as long as the one before, as
    in real chains.
    """
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


@contextlib.contextmanager
def opened(browser: Any, address: str) -> Iterator[Any]:
    """Open a page and yield it once it answers, with its requests in `bodies`."""
    page = browser.new_page(viewport={"width": 1500, "height": 900})
    page.add_init_script(WATCH)
    answers: list[Any] = []

    def keep(answer: Any) -> None:
        answers.append(answer)

    page.on("response", keep)
    page.goto(address, wait_until="commit")
    page.ready = page.evaluate(READY)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)  # the page does the rest of its work when it is idle
    page.bodies = [answer.body() for answer in answers if answer.url.startswith("http")]
    yield page
    page.close()


def clicks(page: Any) -> Iterator[tuple[float, float, int]]:
    """Return (ms to classes, ms to the frame, lines linked) for lines spread over the open
    panes.
    """
    for i in range(CLICKS):
        yield page.evaluate(CLICK, (i * 17 % CLICKS) / CLICKS)


def measure(browser: Any, name: str, address: str, content: bytes) -> None:
    """Print one page's figures; `content` is its size if no server is asked."""
    ready, shifted, blocked, sizes = [], [], [], []
    for _ in range(LOADS):
        with opened(browser, address) as page:
            ready.append(page.ready)
            shifted.append(page.evaluate("window.shifted"))
            blocked.append(page.evaluate("window.blocked"))
            bodies = page.bodies or [content]
            sizes.append(sum(len(gzip.compress(body, 6)) for body in bodies))
    with opened(browser, address) as page:
        times = list(clicks(page))
    painted = [each[1] for each in times]
    print(
        f"{name:24} {max(sizes) / 1000:6.0f} KB  shift {max(shifted):.3f}  "
        f"blocked {statistics.median(blocked):4.0f} ms  usable {statistics.median(ready):5.0f} ms  "
        f"click to paint {statistics.median(painted):5.1f}, worst {max(painted):5.1f} ms  "
        f"(at most {max(each[2] for each in times):,} lines)",
        flush=True,
    )


@contextlib.contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a folder on the loopback address, and yield the address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def arguments(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the command line."""
    parser.add_argument("reports", nargs="*", type=Path, metavar="REPORT.html")
    parser.add_argument("--site", type=Path, help="a built site, whose explorer is measured")
    parser.add_argument("--lines", type=int, default=2000, help="of the made-up chain")
    return parser.parse_args()


def main() -> int:
    """Measure a made-up chain, the given reports, and the explorer of a site."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(prog="python -m benchmarks.viewer", description=__doc__)
    chosen = arguments(parser)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        parser.error("no Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        made = Path(folder) / f"made-up-{chosen.lines}.html"
        body = render.figure(synthetic(chosen.lines), options=render.Options("c"))
        made.write_text(standalone.page("Made up", body), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for path in (made, *chosen.reports):
            measure(browser, path.name, path.resolve().as_uri(), path.read_bytes())
        if chosen.site:
            with served(chosen.site) as address:
                for path in sorted((chosen.site / "explorer").glob("*.html")):
                    measure(browser, path.name, f"{address}/explorer/{path.name}", b"")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
