"""The browser of the tests: Chromium without its windows where it is installed, which is faster."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
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
