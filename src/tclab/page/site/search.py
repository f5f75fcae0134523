"""The search index: prose as Material reads it, and of code only opcodes and kernel names.

Material's parser forgets that it is inside an excluded element once another of the same tag
ends there, and so indexes whole listings. Here they are cut out before it looks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path

from tclab.page.blocks import Page
from tclab.render.escape import esc, tag
from tclab.render.opcodes import Keyword

_VOID = frozenset({"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"})

#: More pages with the same instruction say nothing new, and the index is loaded with each page.
MOST_PAGES = 2

#: What mkdocs-jupyter puts around the code of a notebook's cell.
_CELL = "highlight-ipynb"

Entry = dict[str, str]


class _Pruner(HTMLParser):
    """Collects a page's HTML but for what is marked `data-search-exclude`, and cells."""

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
    return attribute == "data-search-exclude" or (attribute == "class" and _CELL in value)


def prose(html: str) -> str:
    """A page's HTML without what is marked as no matter for a search."""
    pruner = _Pruner()
    pruner.feed(html)
    pruner.close()
    return "".join(pruner.kept)


def complete(path: Path, pages: Iterable[Page]) -> None:
    """Write the words of the pages' code behind the prose of the index at `path`.

    A word leads to at most MOST_PAGES pages, the first that have it.
    """
    if not path.is_file():
        return
    index = json.loads(path.read_text(encoding="utf-8"))
    seen: Counter[str] = Counter()
    for page in pages:
        for word, entry in entries(page.url, page.keywords):
            seen[word] += 1
            if seen[word] <= MOST_PAGES:
                index["docs"].append(entry)
    text = json.dumps(index, separators=(",", ":"), ensure_ascii=False)
    path.write_text(text, encoding="utf-8")


def entries(url: str, keywords: Iterable[Keyword]) -> Iterator[tuple[str, Entry]]:
    """(word, entry of the index) for each word of a page, where it first stands."""
    first: dict[str, Keyword] = {}
    for keyword in keywords:
        first.setdefault(keyword.word, keyword)
    for word, keyword in first.items():
        entry = {
            "location": f"{url}#{keyword.anchor}",
            "title": f"{esc(word)} ({esc(keyword.stage)})",
            "text": tag("code", esc(keyword.line)),
        }
        yield word, entry
