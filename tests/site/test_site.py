"""The real site, built strictly from what is stored or recorded, and read in a real Chromium."""

from __future__ import annotations

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(p.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
               for p in (ROOT / "docs").rglob("*.md"))  # fmt: skip
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
PHONE = {"width": 390, "height": 844}

browser_test = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium: set CHROMIUM to one, or apt-get install chromium"
)


@dataclass
class Built:
    """The folder of the built site, and what building it took."""

    folder: Path
    peak: int  # MiB of resident memory of the process of MkDocs


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The site, built by `mkdocs build --strict`."""
    folder = tmp_path_factory.mktemp("built") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)]
    variables = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    output = folder.with_name("build.log")
    with output.open("w") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=variables, stdout=log, stderr=subprocess.STDOUT
        )
        peak = 0
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(0.02)
    assert process.returncode == 0, output.read_text()
    return Built(folder, peak)


def resident(pid: int) -> int:
    """MiB of resident memory; 0 once the process has gone."""
    try:
        return psutil.Process(pid).memory_info().rss // 2**20
    except psutil.NoSuchProcess:
        return 0


@pytest.fixture(scope="module")
def site(built: Built) -> Path:
    return built.folder


class Page(HTMLParser):
    """Ids, links and stamps of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids += [values["id"]] if values.get("id") else []
        href = values.get("href") if tag in ("a", "link") else None
        self.links += [href] if href else []


def read(site: Path, page: str) -> str:
    return (site / page).read_text(encoding="utf-8")


# --------------------------------------------------------------------------- as files


def test_the_process_of_mkdocs_stays_small(built: Built) -> None:
    assert 20 < built.peak <= 300


@pytest.mark.parametrize("page", PAGES)
def test_ids_are_unique_and_links_within_the_site_lead_somewhere(site: Path, page: str) -> None:
    found = Page(read(site, page))
    twice = {i for i in found.ids if found.ids.count(i) > 1}
    assert not twice
    for link in found.links:
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (site / page).parent / path if path else site / page
        target = target / "index.html" if target.is_dir() else target
        assert target.exists(), link
        if anchor and target.suffix == ".html":
            assert anchor in Page(target.read_text(encoding="utf-8")).ids or anchor == "__", link


@pytest.mark.parametrize("page", PAGES)
def test_no_path_of_this_machine_and_no_traceback(site: Path, page: str) -> None:
    html = read(site, page)
    for private in (str(ROOT), f"{Path.home()}/", "/tmp/", "site-packages/"):
        assert private not in html, private


def test_every_snippet_can_be_downloaded(site: Path) -> None:
    for path in (ROOT / "snippets").glob("*/[!_]*.py"):
        name = path.relative_to(ROOT / "snippets").with_suffix("").as_posix()
        assert (site / f"downloads/{name}.py").read_bytes() == path.read_bytes()
        assert (site / f"downloads/{name}.ipynb").is_file()


# --------------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site served on the loopback."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A function that opens a tab; errors and requests of all tabs are kept in lists on it."""
    contexts = []

    def open_tab(**options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.problems, page.asked = [], []
        page.on("console", lambda m: page.problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        return page

    yield open_tab
    for context in contexts:
        context.close()


@browser_test
@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_without_errors_and_asks_no_other_host(tab, address: str, page: str) -> None:
    opened = tab()
    opened.goto(f"{address}/{page}", wait_until="networkidle")
    assert opened.problems == []
    assert [url for url in opened.asked if not url.startswith((address, "data:", "blob:"))] == []
    assert opened.locator("h1").inner_text().strip()


@browser_test
@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_never_scrolls_sideways(tab, address: str, page: str, scheme: str) -> None:
    opened = tab(viewport=PHONE, color_scheme=scheme)
    opened.goto(f"{address}/{page}", wait_until="load")
    for details in opened.locator("details:not([open]) > summary").all():
        if details.is_visible():
            details.click()
    width = opened.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE["width"], f"{page} is {width} px wide"


@browser_test
@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_everything_is_readable_without_javascript(tab, address: str, page: str) -> None:
    """With scripts off the same words are on the page, and each tab's panel can be reached."""
    with_scripts, without = tab(), tab(java_script_enabled=False)
    words = []
    for opened in (with_scripts, without):
        opened.goto(f"{address}/{page}", wait_until="load")
        words.append(set(opened.locator("article").first.text_content().split()))
    assert words[0] - words[1] == set()
    for choice in without.locator(".tclab-tabs").all():
        if not choice.is_visible():
            continue  # in another tab's panel, or folded
        labels = choice.locator(":scope > .tclab-choice > label")
        panels = choice.locator(":scope > .tclab-panel")
        for number in range(labels.count()):
            labels.nth(number).click()
            assert panels.nth(number).is_visible()


@browser_test
@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_on_paper_every_panel_and_fold_is_printed(tab, address: str, page: str) -> None:
    opened = tab(java_script_enabled=False)
    opened.goto(f"{address}/{page}", wait_until="load")
    opened.emulate_media(media="print")
    for panel in opened.locator(".tclab-panel").all():
        assert panel.is_visible()
    for folded in opened.locator("article details > :not(summary)").all():
        assert folded.is_visible()


@browser_test
@pytest.mark.browser
def test_dark_mode_toggles_and_follows_the_system(tab, address: str) -> None:
    opened = tab(color_scheme="dark")
    opened.goto(f"{address}/index.html", wait_until="load")
    scheme = "document.body.getAttribute('data-md-color-scheme')"
    assert opened.evaluate(scheme) == "slate"
    dark = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    opened.locator("form[data-md-component=palette] label:visible").click()
    opened.wait_for_function(f"{scheme} === 'default'")
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") != dark


@browser_test
@pytest.mark.browser
def test_a_node_of_a_drawn_graph_jumps_to_its_source_line(tab, address: str) -> None:
    opened = tab()
    opened.goto(f"{address}/pipeline/dynamo.html", wait_until="load")
    node = opened.locator("svg a[href*='-L'], svg a[*|href*='-L']").first
    target = node.evaluate("a => a.getAttribute('href') || a.getAttribute('xlink:href')")
    node.click()
    opened.wait_for_function(f"location.hash === {target!r}")
    line = opened.locator(target)
    assert line.is_visible() and line.inner_text().strip()
    top = line.bounding_box()["y"]
    assert 0 < top < opened.viewport_size["height"]


@browser_test
@pytest.mark.browser
def test_code_can_be_copied_without_its_line_numbers(tab, address: str) -> None:
    opened = tab(permissions=["clipboard-read", "clipboard-write"])
    opened.goto(f"{address}/pipeline/dynamo.html", wait_until="load")
    listing = opened.locator(".tclab-listing").first
    listing.locator("button[title*=opy], .md-clipboard, .md-code__button").first.click()
    copied = opened.evaluate("navigator.clipboard.readText()")
    name = listing.locator(".tclab-bar code").inner_text()
    source = (ROOT / name).read_text(encoding="utf-8")
    assert copied.strip() and copied.strip() in source


@browser_test
@pytest.mark.browser
def test_search_finds_a_word_of_the_site_s_own(tab, address: str) -> None:
    opened = tab()
    opened.goto(f"{address}/index.html", wait_until="networkidle")
    opened.keyboard.press("/")
    opened.keyboard.type("provenance", delay=20)
    opened.wait_for_selector(".md-search-result__item a[href*='how-this-site-is-made']")
    assert [url for url in opened.asked if not url.startswith((address, "data:", "blob:"))] == []
