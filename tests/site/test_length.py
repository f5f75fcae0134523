"""How long a page is to whoever reads it: one idea, not a scroll."""

from __future__ import annotations

from typing import Any

import pytest

from tests.site.test_site import PAGES

SCREEN = {"width": 1440, "height": 900}
#: About fifteen, its folds closed; and two more, for fonts of other machines.
MOST = 17
#: Longer, and why.
LONG = {
    "contributing.html": 18,  # a handbook, in which one looks things up
    "reference/settings.html": 70,  # every setting, of which a field shows those that are asked for
}

#: What is far off is laid out, too: its guessed height would be measured. And nothing waits.
LAID_OUT = "* { content-visibility: visible !important }"


@pytest.mark.browser
def test_no_page_is_longer_than_an_idea(tab: Any, address: str) -> None:
    opened, too_long = tab(viewport=SCREEN), {}
    for page in PAGES:
        opened.goto(f"{address}/{page}", wait_until="load")
        opened.add_style_tag(content=LAID_OUT)
        screens = opened.evaluate("document.documentElement.scrollHeight / innerHeight")
        if screens > LONG.get(page, MOST):
            too_long[page] = round(screens, 1)
    assert too_long == {}
    assert LONG.keys() <= set(PAGES)
