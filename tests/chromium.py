"""The browser of the tests: Chromium without its windows where it is installed, which is faster.

And how a test waits: for what it means, never for a time, which a busy machine would need longer.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

#: In the order in which they are looked for, after the one that $CHROMIUM names.
COMMANDS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip


@contextmanager
def launched() -> Iterator[Any]:
    """A Chromium, for the length of the block; the test is skipped where there is none."""
    installed = (shutil.which(command) for command in COMMANDS)
    path = os.environ.get("CHROMIUM") or next(filter(None, installed), None)
    if path is None:
        pytest.skip("no Chromium: set CHROMIUM to one, or apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


#: Seconds after which what has not come will not come.
PATIENCE = 60

#: A tab's own time: nothing else is to do, and what was done is drawn and measured.
_AT_REST = """new Promise((done) => requestIdleCallback(() => requestAnimationFrame(() =>
    requestAnimationFrame(() => setTimeout(done)))))"""


def comes(holds: Callable[[], bool]) -> bool:
    """Whether something comes to hold."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def until(page: Any, expression: str) -> None:
    """Until an expression of JavaScript holds; asked from here, since a page with a policy may not
    evaluate text.
    """
    assert comes(lambda: page.evaluate(expression)), f"never: {expression}"


def at_rest(page: Any) -> None:
    """Until the tab has done what it had to do, and has drawn it."""
    page.evaluate(_AT_REST)
