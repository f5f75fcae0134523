"""Above a function of the explorer: the way back, the other functions, the way to the code."""

from __future__ import annotations

from typing import Any

from mkdocs.utils import get_relative_url

from tclab.render.escape import NOTHING, Html, esc, markup, tag

#: The folder whose pages are functions; its index says what they are.
FOLDER = "explorer/"


def crumbs(page: Any, code: str) -> Html:
    """HTML for the head of `page` (MkDocs's), whose code begins at the anchor `code`; '' for other
    pages.
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
        _beside(page, functions),
        class_="tclab-crumbs",
        aria_label="Functions",
        data_search_exclude="",
    )


def _link(page: Any, to: Any, text: str = "", **more: object) -> Html:
    here = "page" if to is page else None
    url = get_relative_url(to.url, page.url)
    name = text or to.title or page.parent.title
    return tag("a", esc(name), href=url, aria_current=here, **more)


def _beside(page: Any, functions: list[Any]) -> Html:
    """The functions before and after."""
    at = functions.index(page)
    before, after = functions[:at][-1:], functions[at + 1 :][:1]
    links = [_link(page, p, "←", title=p.title, aria_label=f"Before: {p.title}") for p in before]
    links += [_link(page, p, "→", title=p.title, aria_label=f"Next: {p.title}") for p in after]
    return tag("span", *links, class_="tclab-beside")
