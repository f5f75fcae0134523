"""Render the navigation above a function of the explorer: index, other functions, code."""

from __future__ import annotations

from typing import Any

from mkdocs.utils import get_relative_url

from tclab.render.escape import NOTHING, Html, esc, markup, tag

#: The folder whose pages show one function each, and whose index lists them.
FOLDER = "explorer/"


def breadcrumbs(page: Any, code: str) -> Html:
    """Render the navigation of a MkDocs `page` whose code begins at the anchor `code`.

    Return nothing for a page outside the explorer.
    """
    if not page.file.src_uri.startswith(FOLDER) or page.parent is None:
        return NOTHING
    index, *functions = page.parent.children
    if page not in functions:
        return NOTHING
    skip = tag("a", esc("Skip to the code"), class_="tclab-skip", href=f"#{code}")
    items = tag("ul", *(tag("li", _link(page, each)) for each in functions))
    return tag(
        "nav",
        skip if code else NOTHING,
        _link(page, index),
        markup('<span aria-hidden="true">›</span>'),
        tag("details", tag("summary", esc(page.title)), items),
        _neighbour_links(page, functions),
        class_="tclab-crumbs",
        aria_label="Functions",
        data_search_exclude="",
    )


def _link(page: Any, target: Any, text: str = "", **attributes: object) -> Html:
    here = "page" if target is page else None
    url = get_relative_url(target.url, page.url)
    name = text or target.title or page.parent.title
    return tag("a", esc(name), href=url, aria_current=here, **attributes)


def _neighbour_links(page: Any, functions: list[Any]) -> Html:
    """Return links to the previous and the next function."""
    position = functions.index(page)
    before, after = functions[:position][-1:], functions[position + 1 :][:1]
    links = [_link(page, p, "←", title=p.title, aria_label=f"Before: {p.title}") for p in before]
    links += [_link(page, p, "→", title=p.title, aria_label=f"Next: {p.title}") for p in after]
    return tag("span", *links, class_="tclab-beside")
