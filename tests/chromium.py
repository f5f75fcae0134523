"""Start the tests' browser: Chromium's headless shell if it is installed, which is faster.

And how a test waits: for what it means, never for a time, which a busy machine would need longer.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil
import pytest

#: Tried in this order, after the one that $CHROMIUM names.
COMMANDS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip


#: Seconds after which a test's browser is asleep, which Chromium's renderer can be for ever.
ASLEEP = 240


class Chromium:
    """A Chromium that is started again when it has ended."""

    def __init__(self, playwright: Any, path: str) -> None:
        self._launch = lambda: playwright.chromium.launch(executable_path=path, args=FLAGS)
        self._started = self._launch()

    def __getattr__(self, name: str) -> Any:
        if not self._started.is_connected():
            self._started = self._launch()
        return getattr(self._started, name)

    @contextmanager
    def limited(self, seconds: float = ASLEEP) -> Iterator[None]:
        """Limit a block to some seconds: evaluated JavaScript has no time limit of its own."""
        timer = threading.Timer(seconds, _kill_below)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _kill_below() -> None:
    """Kill each Chromium that this process has started."""
    print(f"\nChromium did not answer for {ASLEEP} s, and is killed", file=sys.stderr)
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "chrom" in process.name():
                process.kill()


@contextmanager
def launched() -> Iterator[Chromium]:
    """Start a Chromium for the block; skip the test if there is none."""
    installed = (shutil.which(command) for command in COMMANDS)
    path = os.environ.get("CHROMIUM") or next(filter(None, installed), None)
    if path is None:
        pytest.skip("no Chromium: set CHROMIUM to one, or apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = Chromium(playwright, path)
        yield started
        started.close()


@contextmanager
def tabs_without_errors(browser: Any) -> Iterator[Callable[..., Any]]:
    """Yield a function that opens a tab of some width; no tab may have had an error at the end."""
    problems: list[str] = []
    contexts = []

    def open_tab(width: int = 1280, height: int = 800) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        return page

    with browser.limited():
        yield open_tab
    for context in contexts:
        if context.browser.is_connected():
            context.close()
    assert problems == []


#: Seconds after which what has not come will not come.
PATIENCE = 60

#: A tab's own time: nothing else is to do, and what was done is drawn and measured. A tab that
#: Chromium does not draw is at rest as well.
_AT_REST = """Promise.race([
    new Promise((done) => requestIdleCallback(() => requestAnimationFrame(() =>
        requestAnimationFrame(() => setTimeout(done))))),
    new Promise((done) => setTimeout(done, 20000)),
])"""


def comes(holds: Callable[[], bool]) -> bool:
    """Return whether a condition comes to hold within the limit."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def until(page: Any, expression: str) -> None:
    """Wait until an expression of JavaScript holds; it is polled from here, since a page with a
    policy may not evaluate text.
    """
    assert comes(lambda: page.evaluate(expression)), f"never: {expression}"


def at_rest(page: Any) -> None:
    """Wait until the tab has no work left, and has drawn everything."""
    page.evaluate(_AT_REST)


def press(what: Any) -> None:
    """Click an element that may move once more when it comes into view. Off-screen parts are laid
    out only then, and an element that moves between the two halves of a click is not clicked.
    """
    what.scroll_into_view_if_needed()
    at_rest(what.page)
    what.click()
