"""A browser for the page of a job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.chromium import launched, tabs_without_errors


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium for a test file."""
    with launched() as started:
        yield started


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """Return a function that opens a tab of some width; no tab may have had an error at the end."""
    with tabs_without_errors(browser) as open_tab:
        yield open_tab
