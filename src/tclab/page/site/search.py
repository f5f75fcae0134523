"""The search index: prose as Material reads it, without code, whose words are in `names`.

Material's parser forgets that it is inside an excluded element once another of the same tag
ends there, and so indexes whole listings. Here they are cut out before it looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from html.parser import HTMLParser

_VOID = frozenset({"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"})

#: Of no use to a search: the code of a notebook's cell, as mkdocs-jupyter writes it, and the links
#: of titles to themselves.
_LEFT_OUT = ("highlight-ipynb", "headerlink")


class _Pruner(HTMLParser):
    """Collects a page's HTML but for what is marked `data-search-exclude` and the cells."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.kept: list[str] = []
        self.depth = 0  # of open elements, within an excluded one

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        excluded = self.depth > 0 or any(_is_left_out(key, value or "") for key, value in attrs)
        if not excluded:
            self.kept.append(self.get_starttag_text() or "")
        elif name not in _VOID:
            self.depth += 1

    def handle_startendtag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self.depth:
            self.kept.append(self.get_starttag_text() or "")

    def handle_endtag(self, name: str) -> None:
        if not self.depth:
            self.kept.append(f"</{name}>")
        elif name not in _VOID:
            self.depth -= 1

    def handle_data(self, data: str) -> None:
        if not self.depth:
            self.kept.append(data)

    def handle_entityref(self, name: str) -> None:
        self.handle_data(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.handle_data(f"&#{name};")


def _is_left_out(attribute: str, value: str) -> bool:
    is_named = attribute == "class" and any(name in value for name in _LEFT_OUT)
    return attribute == "data-search-exclude" or is_named


def with_questions(html: str, questions: Iterable[str]) -> str:
    """A page's HTML with the questions that it answers, in the words of those who ask, below its
    title. Its front matter has them, as `asked`; the search alone is to see them.
    """
    text = ". ".join(map(str, questions))
    return html.replace("</h1>", f"</h1><p>{escape(text)}.</p>", 1) if text else html


def prose(html: str) -> str:
    """A page's HTML without what is marked as no matter for a search."""
    pruner = _Pruner()
    pruner.feed(html)
    pruner.close()
    return "".join(pruner.kept)
