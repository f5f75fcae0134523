"""Run Lighthouse on every page of the built site, in the system's Chromium.

The site is served from this machine, compressed as any host would. On a desktop each page is
measured once; on a phone (Lighthouse's own: slow network, a quarter of the processor) one page of
each kind five times, of which the median counts. Measured pages are kept until the page changes: a
run that was stopped goes on where it was.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import http.server
import json
import os
import shutil
import statistics
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import CommandFailed
from benchmarks.results import ROOT, WORK, Figure, Parts

#: The last version that runs on Node 18 and 20.
VERSION = "12.8.2"
FOLDER = WORK / "lighthouse"
SITE = ROOT / "site"
PHONE_RUNS = 5

#: A page of each kind; of some kinds also the heaviest.
KINDS = (
    "index.html", "first-steps.html", "explain.html", "pipeline/triton.html",
    "practice/find-out.html", "explorer/index.html", "explorer/softmax.html",
    "explorer/transformer-block.html", "labs/lab4_code.html", "targets.html",
    "benchmarks/models.html", "beliefs/graphs.html",
    "reference/operators.html", "reference/settings.html", "contributing.html",
)  # fmt: skip

CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
AUDITS = {
    "cls": "cumulative-layout-shift",
    "tbt": "total-blocking-time",
    "bytes": "total-byte-weight",
}

Scores = dict[str, float]


# --------------------------------------------------------------------------- the site


class Compressed(http.server.SimpleHTTPRequestHandler):
    """Serves files as hosts do, compressed by gzip and with permission to cache."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Discard the message: the server logs nothing."""

    def do_GET(self) -> None:
        """Send a file, compressed."""
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            self.send_error(404)
            return
        body = gzip.compress(path.read_bytes(), 6)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a site on the loopback address, and yield the address."""
    handler = functools.partial(Compressed, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def pages() -> list[str]:
    """Return the site's pages, from those of docs/ and its labs."""
    docs = ROOT / "docs"
    sources = [*docs.rglob("*.md"), *docs.glob("labs/lab*.py")]
    return sorted(p.relative_to(docs).with_suffix(".html").as_posix() for p in sources)


def digest(page: str) -> str:
    """Return a digest of the page and of the files that all pages load."""
    scripts = (path for path in SITE.glob("assets/**/*.js") if path.parent.name != "code")
    shared = (*SITE.glob("assets/**/*.css"), *scripts)
    files = [SITE / page, *sorted(shared)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:8]


# --------------------------------------------------------------------------- Lighthouse


def command() -> Path:
    """Return the command of Lighthouse, which the first call installs by npm into the working
    folder.
    """
    binary = FOLDER / "node_modules" / ".bin" / "lighthouse"
    if not binary.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise CommandFailed("npm is not installed; Lighthouse needs node 18 or newer")
        print(f"  installing Lighthouse {VERSION} …", flush=True)
        FOLDER.mkdir(parents=True, exist_ok=True)
        flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--silent"]
        subprocess.run([npm, "install", *flags, "--prefix", FOLDER, f"lighthouse@{VERSION}"],
                       check=True)  # fmt: skip
    return binary


def chromium() -> str:
    """Return the path of the system's browser."""
    browser = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    if browser is None:
        raise CommandFailed("no Chromium: set CHROMIUM to one, or apt-get install chromium")
    return browser


def measure(url: str, *, phone: bool) -> Scores:
    """Run Lighthouse once: scores from 0 to 100, layout shift, ms of blocking, bytes."""
    flags = ["--quiet", "--output=json", "--no-enable-error-reporting",
             "--chrome-flags=--headless=new --no-sandbox --disable-gpu"]  # fmt: skip
    preset = [] if phone else ["--preset=desktop"]
    done = subprocess.run(
        [command(), url, *flags, *preset], env={**os.environ, "CHROME_PATH": chromium()},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if done.returncode:
        raise CommandFailed(
            f"lighthouse {url} ended with {done.returncode}:\n{done.stderr[-2000:]}"
        )
    report = json.loads(done.stdout)
    scores = {name: 100 * report["categories"][name]["score"] for name in CATEGORIES}
    return scores | {
        name: report["audits"][audit]["numericValue"] for name, audit in AUDITS.items()
    }


def median(runs: list[Scores]) -> Scores:
    """Return the median of each number."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


# --------------------------------------------------------------------------- figures


def phone(parts: Parts) -> Iterator[Figure]:
    """Return the worst page of each measure and a table: a page of each kind, five times."""
    return _figures(parts, "phone", KINDS, PHONE_RUNS)


def desktop(parts: Parts) -> Iterator[Figure]:
    """Return the worst page of each measure and a table: every page, once."""
    return _figures(parts, "desktop", pages(), 1)


def _figures(parts: Parts, form: str, of: Iterable[str], runs: int) -> Iterator[Figure]:
    if not (SITE / "index.html").exists():
        raise CommandFailed("there is no site/; build it with make site")
    with served(SITE) as address:
        scores = {page: _scores(parts, page, form, f"{address}/{page}", runs) for page in of}
    yield from _worst(form, scores)


def _scores(parts: Parts, page: str, form: str, url: str, runs: int) -> Scores:
    names = [f"lighthouse/{form}/{page}/{digest(page)}/{i}" for i in range(runs)]
    return median([parts.get(n, lambda: measure(url, phone=form == "phone")) for n in names])


def _worst(form: str, of: dict[str, Scores]) -> Iterator[Figure]:
    where = f"{form}, median of {PHONE_RUNS}" if form == "phone" else form
    for name in CATEGORIES[1:]:
        yield _figure(
            name, f"Lighthouse, {name.replace('-', ' ')}, {where}", form, of, min, ">=100"
        )
    limit = ">=90" if form == "phone" else ">=95"
    yield _figure("performance", f"Lighthouse, performance, {where}", form, of, min, limit)
    yield _figure("cls", f"Layout shift, {where}", form, of, max, "<=0.02")
    if form == "desktop":
        yield _figure("tbt", "Blocking time, desktop", form, of, max, "<=150", unit=" ms")
    yield _figure("bytes", f"A page with all it loads, compressed, {form}", form, of, max, "<=300",
                  unit=" kB", scale=1e-3, detail=_table(of))  # fmt: skip


def _figure(
    measure_name: str, what: str, form: str, of: dict[str, Scores], worst: Callable[..., Any],
    limit: str, *, unit: str = "", scale: float = 1.0, detail: list[list[str]] | None = None,
) -> Figure:  # fmt: skip
    page = worst(of, key=lambda page: of[page][measure_name])
    value = of[page][measure_name] * scale
    note = f"the worst of {len(of)} pages: {page}"
    name = f"lighthouse-{measure_name}-{form}"
    return Figure(name, what, value, limit, unit, note, detail or [])


def _table(of: dict[str, Scores]) -> list[list[str]]:
    """A row for each page."""
    head = ["page", "performance", "accessibility", "best practices", "SEO", "layout shift",
            "blocking", "compressed"]  # fmt: skip
    return [head, *(
        [page, *(f"{one[name]:.0f}" for name in CATEGORIES),
         f"{one['cls']:.3f}", f"{one['tbt']:.0f} ms", f"{one['bytes'] / 1e3:.0f} kB"]
        for page, one in of.items()
    )]  # fmt: skip
