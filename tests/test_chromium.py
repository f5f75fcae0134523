"""The browser of the tests: one that sleeps fails its test, and no other."""

from __future__ import annotations

import pytest

from .chromium import launched


def test_a_page_that_never_answers_ends_and_the_next_has_a_browser() -> None:
    with launched() as browser:
        page = browser.new_context().new_page()
        with browser.limited(2), pytest.raises(Exception, match="closed"):
            page.evaluate("new Promise(() => {})")
        page = browser.new_context().new_page()
        assert page.evaluate("1 + 1") == 2
