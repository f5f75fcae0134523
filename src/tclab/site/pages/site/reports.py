"""Show a report on a page: it is a separate file, linked and embedded in a fold."""

from __future__ import annotations

from tclab.model import Report
from tclab.render.escape import Html, esc, tag
from tclab.render.report import counts, document, words
from tclab.site.pages.rendering import Page


def figure(page: Page, report: Report, name: str) -> Html:
    """Render the report's verdict, a link to the report, and a fold that shows it."""
    path = f"{page.url.removesuffix('.html')}/{name}.html"
    page.files[path] = document.html(report)
    verdict = tag("p", tag("strong", esc(counts.summary(report))))
    link = tag("p", tag("a", esc("Open the report"), href=page.link(path)))
    frame = tag("iframe", src=page.link(path), title=words.title(report), loading="lazy")
    fold = tag("details", tag("summary", esc("Look at it here")), frame, class_="tclab-fold")
    return tag("div", verdict, link, fold, class_="tclab tclab-document", id=name)
