"""Prepare the text that Material's search indexes: prose without code (see `search_names`).

For Material's parser an excluded element ends too early, at the end of a nested element with the
same tag, so it would index whole listings. So this module removes the elements before the parser
reads the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from html.parser import HTMLParser

_VOID = frozenset({"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"})

#: Classes of elements that the search must not index: code of mkdocs-jupyter's cells, and the
#: permanent links of headings.
_EXCLUDED_CLASSES = ("highlight-ipynb", "headerlink")
#: The class of a cell with a number. The search would index a row's numbers as one word.
_NUMBER = "tclab-num"


class _Pruner(HTMLParser):
    """Collects a page's HTML without elements marked `data-search-exclude` and without cells."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.kept: list[str] = []
        self.depth = 0  # the number of open elements inside an excluded one

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        excluded = self.depth > 0 or any(
            _is_excluded(name, key, value or "") for key, value in attrs
        )
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


def _is_excluded(element: str, attribute: str, value: str) -> bool:
    classes = (*_EXCLUDED_CLASSES, *([_NUMBER] if element == "td" else []))
    is_named = attribute == "class" and any(name in value for name in classes)
    return attribute == "data-search-exclude" or is_named


def add_questions(entries: list[dict[str, object]], url: str, questions: Iterable[str]) -> None:
    """Give a page's own entry the questions that it answers (`asked` in its front matter), if there
    are any.

    They are in a field that the search reads and does not show.
    """
    asked = ". ".join(map(str, questions))
    for entry in entries:
        if asked and entry["location"] == url:
            entry["asked"] = asked


def searchable_html(html: str) -> str:
    """Return the page's HTML without the elements that the search must not index."""
    pruner = _Pruner()
    pruner.feed(html)
    pruner.close()
    return "".join(pruner.kept)
