"""A snippet's caption, which is Markdown, as HTML. HTML that is written in it is text, as in its
title; a link leads to a page, and an image lies beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from markdown import Markdown  # type: ignore[import-untyped, unused-ignore]

from tclab.errors import PageError
from tclab.model import Snippet, source_lines
from tclab.page import fragments
from tclab.page.prose import installed, references
from tclab.page.prose.markdown import MarkdownText
from tclab.render.escape import NOTHING, Html

_EXTENSIONS = ["tables", "attr_list", "def_list", "pymdownx.superfences"]

#: What a caption may have: a browser does nothing of its own with it.
_ATTRIBUTES = frozenset(("href", "src", "alt", "title", "id", "class", "start", "lang", "style"))
_ALIGN = re.compile(r"text-align: (?:left|right|center);")  # of a column of a table
_SCHEME = re.compile(r"([^/?#]*?):|//")
_LINKS = frozenset(("http", "https", "mailto"))


def caption_html(snippet: Snippet) -> Html:
    """The caption as HTML; its source references are links. PageError for one that is wrong."""
    if not snippet.caption.strip():
        return NOTHING

    def make() -> Html:
        caption = MarkdownText(snippet.file, snippet.caption, _first_line(snippet))
        text, problems = references.link(caption)
        if problems:
            raise problems[0]
        html = _converted(text)
        for problem in _live(html):
            step = "a caption has links to pages and formatted text; take the rest out"
            raise PageError(f"{snippet.file}:{caption.first_line}", problem, step)
        return Html(html)

    return fragments.cached_html(
        make, "caption without HTML", snippet.name, snippet.source, installed.versions()
    )


def _converted(text: str) -> str:
    markdown = Markdown(extensions=_EXTENSIONS)
    markdown.preprocessors.deregister("html_block")
    markdown.inlinePatterns.deregister("html")
    html: str = markdown.convert(text)
    return html


def _live(html: str) -> Iterator[str]:
    """What a browser would obey in the HTML of a caption: attributes, addresses."""
    page = _Attributes()
    page.feed(html)
    for name, value in page.attributes:
        if name not in _ATTRIBUTES or (name == "style" and not _ALIGN.fullmatch(value)):
            yield f"the caption sets {name}={value!r}"
        elif name in ("href", "src") and not _leads_to_a_page(value, image=name == "src"):
            yield f"the caption leads to {value!r}"


def _leads_to_a_page(address: str, *, image: bool) -> bool:
    read = re.sub(r"[\x00-\x20]", "", address).replace("\\", "/")  # as browsers read it
    scheme = _SCHEME.match(read)
    return scheme is None or (not image and (scheme[1] or "").lower() in _LINKS)


class _Attributes(HTMLParser):
    """The attributes of all tags."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += ((name, value or "") for name, value in attrs)


def _first_line(snippet: Snippet) -> int:
    """The line of the file on which the caption begins."""
    first = snippet.caption.split("\n", 1)[0]
    lines = source_lines(snippet.source)
    return next((n for n, line in enumerate(lines, 1) if line.strip() == first.strip()), 1)
