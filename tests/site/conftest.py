"""Provide a small project for each test, and the real site, built once."""

from __future__ import annotations

import base64
import fcntl
import functools
import gzip
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.chromium import launched
from tests.nightly import at_night

ROOT = Path(__file__).resolve().parents[2]
HOOK = "src/tclab/site/pages/mkdocs_hook.py"

#: A page of each kind, tested in every way. The other pages take turns in those ways that need a
#: browser for long: testing all pages in all ways would take half of CI's time.
ONE_OF_EACH_KIND = (
    *("index.html", "targets.html", "pipeline/guards.html", "explorer/relu.html"),
    *("practice/find-out.html", "beliefs/kernels.html", "reference/operators.html"),
    *("benchmarks/models.html", "labs/lab4_code.html"),
)


def in_turn(pages: Sequence[str], ways: int, way: int) -> list[str]:
    """Return the pages whose turn it is in this way, of so many, and one page of each kind."""
    return [p for i, p in enumerate(pages) if i % ways == way or p in ONE_OF_EACH_KIND]


def others_at_night(pages: Sequence[str], ways: int, way: int) -> list[Any]:
    """Return all pages; those whose turn it is not are marked as tests of the night."""
    return at_night(pages, in_turn(pages, ways, way))


def unpacked(script: str) -> Any:
    """Return the content that a script of the site has packed in its first string."""
    return json.loads(gzip.decompress(base64.b64decode(script.split('"')[1])))


NAV = """nav:
  - Home: index.md
"""

HELLO = '''"""Say hello.

The caption of a snippet without PyTorch.
"""

import tclab

tclab.show("hello from a run", title="Greeting", name="greeting")
print("printed by hello")
'''

PAGE = """# Home

Text before.

```python exec="1" html="1"
from tclab.site.pages import snippet
snippet("start/hello")
```
"""


@dataclass
class Project:
    """A folder with mkdocs.yml, docs, snippets: `write` files, then `build`."""

    root: Path

    def write(self, path: str, text: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    def page(self, *calls: str) -> None:
        """Return a home page whose only block, which starts on line 3, makes these calls."""
        names = ", ".join(dict.fromkeys(call.partition("(")[0] for call in calls))
        body = "\n".join([f"from tclab.site.pages import {names}", *calls])
        fence = f'```python exec="1" html="1"\n{body}\n```\n'
        self.write("docs/index.md", f"# Home\n\n{fence}")

    def build(self, *flags: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run `mkdocs build` in a process of its own; stdout and stderr come together."""
        command = [sys.executable, "-m", "mkdocs", "build", "-q", *flags]
        return subprocess.run(
            command,
            cwd=self.root,
            env=environment() | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )

    def fails(self, *flags: str, **variables: str) -> str:
        """Return the output of a build that must fail."""
        done = self.build(*flags, **variables)
        assert done.returncode == 1, done.stdout
        assert "Traceback" not in done.stdout
        return done.stdout

    def environment(self) -> dict[str, str]:
        return environment()

    def html(self, page: str = "index.html") -> str:
        return (self.root / "site" / page).read_text(encoding="utf-8")


def environment() -> dict[str, str]:
    """Return the environment of a build: the package from this checkout, few threads."""
    known = {k: v for k, v in os.environ.items() if not k.startswith(("TCLAB", "SOURCE_DATE"))}
    return known | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Make a project with one page and one snippet that needs no PyTorch. It has no labs, whose
    plugin takes as long to import as everything else.
    """
    made = Project(tmp_path)
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    before, _, rest = config.partition("nav:\n")
    after = rest[rest.index("\nhooks:") :]
    labs, markdown = after.index("  - mkdocs-jupyter:"), after.index("  - markdown-exec:")
    made.write("mkdocs.yml", before + NAV + after[:labs] + after[markdown:])
    hook = tmp_path / HOOK
    hook.parent.mkdir(parents=True)
    shutil.copy(ROOT / HOOK, hook)
    shutil.copytree(ROOT / "docs" / "assets", tmp_path / "docs" / "assets")
    made.write("snippets/start/hello.py", HELLO)
    made.write("docs/index.md", PAGE)
    return made


# --------------------------------------------------------------------------- the real site


@dataclass
class Built:
    """The folder of the built site, and the costs of building it."""

    folder: Path
    peak: int  # MiB of resident memory of MkDocs' process


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build the site by `mkdocs build --strict`: once, also for workers side by side."""
    aside = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        aside = aside.parent
    aside /= "built"
    aside.mkdir(exist_ok=True)
    folder = ROOT / os.environ.get("TCLAB_BUILT_SITE", aside / "site")
    with (aside / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        peak = aside / "peak"
        if not peak.exists():
            peak.write_text(str(build_site(folder, aside / "build.log")))
        return Built(folder, int(peak.read_text()))


def build_site(folder: Path, output: Path) -> int:
    """Build the site into `folder`; return the peak of memory in MiB."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    variables = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    with output.open("w") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=variables, stdout=log, stderr=subprocess.STDOUT
        )
        peak = 0
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(0.02)
    assert process.returncode == 0, output.read_text()
    return peak


def resident(pid: int) -> int:
    """Return the MiB of resident memory; 0 after the process has ended."""
    try:
        return psutil.Process(pid).memory_info().rss // 2**20
    except psutil.NoSuchProcess:
        return 0


@pytest.fixture(scope="session")
def site(built: Built) -> Path:
    return built.folder


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Serve the site on the loopback address."""

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
    with launched() as started:
        yield started


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """Return a function that opens a tab; lists on it keep the errors and requests of all tabs."""
    with browser.limited(), tabs(browser) as open_tab:
        yield open_tab


@contextmanager
def tabs(browser: Any) -> Iterator[Any]:
    """Yield for a block what the fixture `tab` returns."""
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
        if context.browser.is_connected():
            context.close()


@pytest.fixture(scope="module")
def kept_tabs(browser: Any) -> Iterator[Any]:
    """A function that opens a page in a tab which stays: a new one takes a third of a visit's time.

    What the page before left in the browser's storage is gone; the lists of errors and of requests
    are of this page.
    """
    kept: dict[str, Any] = {}

    with tabs(browser) as open_tab:

        def visit(url: str, wait_until: str = "load", blocked: str = "", **options: Any) -> Any:
            media = {"color_scheme": options.pop("color_scheme", "light"), "media": "screen"}
            key = f"{blocked} {options}"
            found = kept.get(key)
            if found and not found.is_closed() and found.context.browser.is_connected():
                found.evaluate("localStorage.clear(); sessionStorage.clear()")
            else:
                found = kept[key] = open_tab(**options)
                if blocked:
                    found.route(blocked, lambda asked: asked.abort())
            found.emulate_media(**media)
            if "viewport" in options:  # a test may have resized the tab
                found.set_viewport_size(options["viewport"])
            found.problems.clear()
            found.asked.clear()
            found.goto(url, wait_until=wait_until)
            return found

        yield visit


@pytest.fixture
def visit(browser: Any, kept_tabs: Any) -> Iterator[Any]:
    """The function of `kept_tabs`, for as long as the browser answers."""
    with browser.limited():
        yield kept_tabs
