"""Convert a snippet's caption from Markdown to HTML.

HTML inside the caption is shown as text. Links lead to pages, images must be files of the site.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from markdown import Markdown  # type: ignore[import-untyped, unused-ignore]

from tclab.errors import PageError
from tclab.model import Snippet, source_lines
from tclab.render.escape import NOTHING, Html
from tclab.site.pages import fragments
from tclab.site.pages.prose import installed_packages, references
from tclab.site.pages.prose.markdown import MarkdownText

_EXTENSIONS = ["tables", "attr_list", "def_list", "pymdownx.superfences"]

#: Attributes allowed in a caption. With them a browser runs no code, and loads nothing but images.
_ATTRIBUTES = frozenset(("href", "src", "alt", "title", "id", "class", "start", "lang", "style"))
_ALIGN = re.compile(r"text-align: (?:left|right|center);")  # the alignment of a table's column
_SCHEME = re.compile(r"([^/?#]*?):|//")
_LINK_SCHEMES = frozenset(("http", "https", "mailto"))


def caption_html(snippet: Snippet) -> Html:
    """Convert the caption to HTML with links for source references. Raises PageError for a bad
    reference.
    """
    if not snippet.caption.strip():
        return NOTHING

    def make() -> Html:
        caption = MarkdownText(snippet.file, snippet.caption, _first_line(snippet))
        text, problems = references.link_references(caption)
        if problems:
            raise problems[0]
        html = _convert(text)
        for problem in _forbidden_attributes(html):
            step = "a caption has links to pages and formatted text; take the rest out"
            raise PageError(f"{snippet.file}:{caption.first_line}", problem, step)
        return Html(html)

    return fragments.cached_html(
        make,
        "caption without HTML",
        snippet.name,
        snippet.source,
        installed_packages.repository_urls(),
    )


def _convert(text: str) -> str:
    markdown = Markdown(extensions=_EXTENSIONS)
    markdown.preprocessors.deregister("html_block")
    markdown.inlinePatterns.deregister("html")
    html: str = markdown.convert(text)
    return html


def _forbidden_attributes(html: str) -> Iterator[str]:
    """Yield a cause for each attribute or address that a caption must not have."""
    page = _AttributeCollector()
    page.feed(html)
    for name, value in page.attributes:
        if name not in _ATTRIBUTES or (name == "style" and not _ALIGN.fullmatch(value)):
            yield f"the caption sets {name}={value!r}"
        elif name in ("href", "src") and not _leads_to_a_page(value, image=name == "src"):
            yield f"the caption leads to {value!r}"


def _leads_to_a_page(address: str, *, image: bool) -> bool:
    # the address as a browser normalizes it
    read = re.sub(r"[\x00-\x20]", "", address).replace("\\", "/")
    scheme = _SCHEME.match(read)
    return scheme is None or (not image and (scheme[1] or "").lower() in _LINK_SCHEMES)


class _AttributeCollector(HTMLParser):
    """Collects the attributes of all tags."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += ((name, value or "") for name, value in attrs)


def _first_line(snippet: Snippet) -> int:
    """Return the line of the snippet's file on which the caption begins."""
    first = snippet.caption.split("\n", 1)[0]
    lines = source_lines(snippet.source)
    return next((n for n, line in enumerate(lines, 1) if line.strip() == first.strip()), 1)
