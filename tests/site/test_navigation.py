"""The navigation: a tab for each section, from every page; the same sections on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mkdocs.utils.yaml import yaml_load

from tests.site.test_site import PAGES, PHONE, ROOT, read

DESKTOP = {"width": 1440, "height": 900}
NAV = yaml_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
SECTIONS = [next(iter(entry)) for entry in NAV]
_TAB = re.compile(r'<li class="md-tabs__item([^"]*)">\s*<a href="([^"]*)"[^>]*>\s*([^<]*?)\s*</a>')


def pages(entry: Any) -> Iterator[str]:
    """Yield the pages in an entry of the navigation, however deep, as they are built."""
    if isinstance(entry, str):
        yield f"{entry.rpartition('.')[0]}.html"
        return
    for each in entry.values() if isinstance(entry, dict) else entry:
        yield from pages(each)


SECTION = {page: section for entry in NAV for section in entry for page in pages(entry)}


def test_every_page_has_a_tab_for_each_section_and_is_in_one(site: Path) -> None:
    for page in PAGES:
        tabs = _TAB.findall(read(site, page))
        assert [name for _, _, name in tabs] == SECTIONS, page
        assert [name for more, _, name in tabs if "active" in more] == [SECTION[page]], page


@pytest.mark.browser
@pytest.mark.parametrize("page", ["index", "explorer/softmax", "practice/find-out"])
def test_a_click_leads_to_another_section(tab: Any, address: str, page: str) -> None:
    opened = tab(viewport=DESKTOP)
    opened.goto(f"{address}/{page}.html", wait_until="load")
    opened.locator(".md-tabs").get_by_text("Reference", exact=True).click()
    opened.wait_for_url("**/reference/index.html")


@pytest.mark.browser
@pytest.mark.parametrize("is_on", [True, False])
def test_a_click_on_a_line_is_offered_where_scripts_run(
    tab: Any, address: str, is_on: bool
) -> None:
    opened = tab(java_script_enabled=is_on)
    opened.goto(f"{address}/index.html", wait_until="load")
    assert opened.get_by_text("Click a line of Python").is_visible() is is_on


@pytest.mark.browser
@pytest.mark.parametrize(
    "page", ["pipeline/guards", "practice/find-out", "practice/decoding", "reference/logs"]
)
def test_the_pages_of_a_section_are_in_sight(tab: Any, address: str, page: str) -> None:
    opened = tab(viewport=DESKTOP)
    opened.goto(f"{address}/{page}.html", wait_until="load")
    box = opened.locator(".md-sidebar--primary .md-sidebar__scrollwrap")
    hidden = box.evaluate("box => box.scrollHeight - box.clientHeight")
    assert hidden <= 0
    assert opened.locator(".md-path").get_by_text("Home", exact=True).is_visible()


@pytest.mark.browser
@pytest.mark.parametrize("page", ["index", "explorer/softmax", "labs/lab3_breaks"])
def test_a_phone_has_the_same_sections(tab: Any, address: str, page: str) -> None:
    opened = tab(viewport=PHONE)
    opened.goto(f"{address}/{page}.html", wait_until="load")
    opened.locator(".md-header label[for=__drawer]").click()
    places = opened.locator(".md-nav--primary > .md-nav__list > .md-nav__item")
    names = places.evaluate_all("all => all.map((item) => item.innerText.trim().split('\\n')[0])")
    assert [name for name in names if name] == SECTIONS
