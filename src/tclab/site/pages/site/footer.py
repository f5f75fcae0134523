"""Render the footer of a page, and fill the page for addresses that do not exist."""

from __future__ import annotations

from collections.abc import Iterable

from tclab.render.escape import NOTHING, Html, esc, markup, tag
from tclab.site.pages.book import Book
from tclab.site.pages.site import markdown_pages

_NOT_FOUND = "<h1>404 - Not found</h1>"


def page_footer(book: Book, path: str, url: str) -> Html:
    """Render the command that runs the page's snippets, and the link to its Markdown.

    `path` is the page's file (``docs/…``), and `url` is its address.
    """
    topics = dict.fromkeys(use.snippet.split("/")[0] for use in book.uses if use.page == path)
    command = tag("code", esc(f"tclab run {' '.join(topics)}"))
    run = markup("Run what this page shows: {}. ", command) if topics else NOTHING
    markdown = tag(
        "a", esc("as Markdown"), href=markdown_pages.markdown_url(url.rsplit("/", 1)[-1])
    )
    text = markup("Its text is {}, with the outputs {}.", tag("code", esc(path)), markdown)
    return tag("p", run, text, class_="tclab-see tclab-foot", data_search_exclude="")


def fill_not_found_page(html: str, pages: Iterable[markdown_pages.ListedPage], base: str) -> str:
    """Fill the 404 page with advice and links to the first page of each section."""
    first: dict[str, markdown_pages.ListedPage] = {}
    for page in pages:
        first.setdefault(page.section, page)
    links = (tag("li", tag("a", esc(name), href=base + page.url)) for name, page in first.items())
    words = (
        "The address may be of another version of this site. Press / and search for a word of "
        "the page: an error message, an operator, a setting. Or go on here:"
    )
    head = tag("h1", esc("There is no such page"))
    return html.replace(_NOT_FOUND, head + tag("p", esc(words)) + tag("ul", *links))
