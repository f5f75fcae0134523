"""Contrast of the style sheet, and the way of the keyboard. `accessible` looks at each page, in the
visits of `test_site`.
"""

from __future__ import annotations

import re

import pytest

from tclab import render
from tests.site.accessible import LEAST, colour, contrast

# --------------------------------------------------------------------------- contrast


def palettes() -> dict[str, dict[str, str]]:
    """Return the variables of the style sheet, of each of the two themes; Material's by their
    fallback.
    """
    light, dark = render.css().split('[data-md-color-scheme="slate"] {', 1)
    variable = re.compile(r"--tclab-([\w-]+): (?:var\([\w-]+, )?(#[0-9a-f]{3,6})\)?;")
    return {"light": dict(variable.findall(light)), "dark": dict(variable.findall(dark))}


def test_how_contrast_is_counted() -> None:
    assert contrast(colour("#000"), colour("#fff")) == pytest.approx(21)
    assert contrast(colour("#777777"), colour("#fff")) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_colour_of_text_is_read_on_each_ground(theme: str) -> None:
    palette = palettes()[theme]
    texts = [name for name in palette if name.startswith("hl-")]
    texts += ["fg", "dim", "code-fg", "link", "warn", "bad"]
    assert len(texts) >= 15
    pale = {
        (text, ground): round(found, 2)
        for text in texts
        for ground in ("bg", "code-bg", "mark")
        if (found := contrast(colour(palette[text]), colour(palette[ground]))) < LEAST
    }
    assert not pale


# --------------------------------------------------------------------------- keyboard, links


@pytest.mark.browser
def test_the_first_tab_leads_into_the_text(tab, address: str) -> None:
    opened = tab()
    opened.goto(f"{address}/pipeline/dynamo.html", wait_until="load")
    opened.keyboard.press("Tab")
    skip = opened.locator(":focus")
    assert "Skip to content" in skip.inner_text()
    opened.keyboard.press("Enter")
    opened.wait_for_url("**#dynamo")


@pytest.mark.browser
def test_links_in_text_are_underlined(tab, address: str) -> None:
    opened = tab()
    opened.goto(f"{address}/pipeline/dynamo.html", wait_until="load")
    plain = opened.evaluate("""() =>
        Array.from(document.querySelectorAll("article p a, article li a"))
        .filter((a) => a.textContent.trim())
        .filter((a) => !a.matches(".headerlink, .tclab-downloads a, .tclab-proof") // a tick
            && !getComputedStyle(a).textDecorationLine.includes("underline"))
        .map((a) => a.outerHTML.slice(0, 100))""")
    assert plain == []
