"""What stands below every page: the command that runs what it shows, its text; and the page that
is shown where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable

from tclab.page.book import Book
from tclab.page.site import twins
from tclab.render.escape import NOTHING, Html, esc, markup, tag

_NOT_FOUND = "<h1>404 - Not found</h1>"


def foot(book: Book, path: str, url: str) -> Html:
    """The foot of the page at `path` (``docs/…``), whose address is `url`."""
    topics = dict.fromkeys(use.snippet.split("/")[0] for use in book.uses if use.page == path)
    command = tag("code", esc(f"tclab run {' '.join(topics)}"))
    run = markup("Run what this page shows: {}. ", command) if topics else NOTHING
    twin = tag("a", esc("as Markdown"), href=twins.name_of(url.rsplit("/", 1)[-1]))
    text = markup("Its text is {}, with the outputs {}.", tag("code", esc(path)), twin)
    return tag("p", run, text, class_="tclab-see tclab-foot", data_search_exclude="")


def not_found(html: str, pages: Iterable[twins.Listed], base: str) -> str:
    """The page for an address that leads nowhere: where to look instead."""
    first: dict[str, twins.Listed] = {}
    for page in pages:
        first.setdefault(page.section if page.section != "Get started" else page.title, page)
    links = (tag("li", tag("a", esc(name), href=base + page.url)) for name, page in first.items())
    words = (
        "The address may be of another version of this site. Press / and search for a word of "
        "the page: an error message, an operator, a setting. Or go on here:"
    )
    head = tag("h1", esc("There is no such page"))
    return html.replace(_NOT_FOUND, head + tag("p", esc(words)) + tag("ul", *links))
