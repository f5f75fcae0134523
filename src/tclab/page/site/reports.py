"""A report on a page: a file of its own beside it, with a link and a window that opens on it."""

from __future__ import annotations

from tclab.model import Report
from tclab.page.blocks import Page
from tclab.render.escape import Html, esc, tag
from tclab.render.report import counts, document, words


def figure(page: Page, shown: Report, name: str) -> Html:
    """What the report says first, a link to it, and a fold in which it can be looked at."""
    path = f"{page.url.removesuffix('.html')}/{name}.html"
    page.files[path] = document.html(shown)
    said = tag("p", tag("strong", esc(counts.verdict(shown))))
    link = tag("p", tag("a", esc("Open the report"), href=page.link(path)))
    frame = tag("iframe", src=page.link(path), title=words.title(shown), loading="lazy")
    fold = tag("details", tag("summary", esc("Look at it here")), frame, class_="tclab-fold")
    return tag("div", said, link, fold, class_="tclab tclab-document", id=name)
