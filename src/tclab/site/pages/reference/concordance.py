"""Index which chapters show a name: an operator, a setting, a break, a log, a kind of guard.

The names come from code in the prose of the pages, from the snippets that they use, and from the
outputs of the snippets' runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from markdown.extensions.toc import slugify, unique

from tclab.model import Breaks, Graph, Guards, Run, Table, Text
from tclab.site.pages.book import Book
from tclab.site.pages.prose.text import PageText

#: The most places to which an entry links.
MOST_PLACES = 2

#: The folder of the reference pages. They list all names, so they do not count as places that show
#: a name.
REFERENCE = "reference/"

_CODE = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_MARKUP = re.compile(r"[`*]|\[([^\]]*)\]\([^)]*\)")
#: Contexts in which an ordinary word is a name: `TORCH_LOGS="fusion"`, `backend="eager"`,
#: `config.cse`
_SETTING_VALUE = re.compile(r"""(?:TORCH_LOGS=|backend=|mode=|config\.)["']?([+\w,.-]+)""")

#: The message of an error or a warning in a run's table or text.
_ERROR = r"\w*(?:Error|Exception|Warning|Unsupported|Failed|Hit)\b"
_MESSAGE = re.compile(rf"^.*?\b{_ERROR}[^:\n]{{0,40}}: (?=.{{20}}).*$", re.MULTILINE)
_CAMEL_CASE = re.compile(r"[a-z][A-Z]")

Place = tuple[str, str]  # address from the site's root, words


@dataclass
class Concordance:
    """The places that show each name and how often, in the order of the pages."""

    places: dict[str, dict[Place, int]] = field(default_factory=dict)
    prose_names: set[str] = field(default_factory=set)  # the names that occur in prose
    messages: dict[str, Place] = field(default_factory=dict)  # error message → where a run shows it

    def add(self, names: Iterable[str], place: Place) -> None:
        """Add one to the count of each name at `place`."""
        for name in names:
            known = self.places.setdefault(name, {})
            known[place] = known.get(place, 0) + 1

    def best_places(self, name: str) -> list[Place]:
        """Return the places that show the name most often. Places with equal counts are in the
        order of the pages.
        """
        known = self.places.get(name, {})
        return sorted(known, key=lambda place: -known[place])[:MOST_PLACES]

    def weight(self, name: str) -> int:
        """Return how often the book shows the name."""
        return sum(self.places.get(name, {}).values())


def build_concordance(book: Book, order: Iterable[str]) -> Concordance:
    """Index all pages of the book except the reference; `order` has their addresses."""
    index = Concordance()
    for url in order:
        text = book.page_at(url)
        if text and not url.startswith(REFERENCE):
            for names, place, snippet in _names_by_line(text, url, book):
                index.add(names, place)
                index.prose_names |= set(filter(_is_error_name, names)) if snippet else names
                for message in _error_messages(snippet, book):
                    index.messages.setdefault(message, place)
                    kinds = set(names_in(_error_name(message)))
                    index.add(kinds - names, place)
                    index.prose_names |= kinds
    return index


def _names_by_line(text: PageText, url: str, book: Book) -> Iterator[tuple[set[str], Place, str]]:
    """Yield (names, place of the heading, snippet or '') for each line of a page."""
    headings = {heading.line: heading.words for heading in text.headings if heading.level <= 3}
    used_anchors: set[str] = set()
    place = (url, PurePosixPath(text.page).stem)
    for number, line in text.lines:
        if number in headings:
            words = _MARKUP.sub(lambda m: m[1] or "", headings[number])
            place = (f"{url}#{unique(slugify(words, '-'), used_anchors)}", words)
        elif number not in text.fenced_lines:
            yield {n for code in _CODE.findall(line) for n in names_in(code)}, place, ""
        for use in (use for use in text.uses if use.line == number):
            yield _names_in_snippet(use.snippet, book), place, use.snippet


def names_in(code: str) -> Iterator[str]:
    """Yield the names in a piece of code, and each suffix of a dotted name.

    An ordinary word counts only as the name of a log, a backend, a mode or a setting.
    """
    for plain in _SETTING_VALUE.findall(code):
        yield from (word.strip("+-") for word in re.split(r"[,.]", plain))
    for dotted in _NAME.findall(code):
        pieces = dotted.split(".")
        ends = (".".join(pieces[start:]) for start in range(len(pieces)))
        yield from (end for end in ends if is_name(end))


def is_name(word: str) -> bool:
    """Return whether a word, such as `recompile_limit` or `aten.mm`, is a name and not an ordinary
    word.
    """
    return not word.isalpha() or word.isupper() or bool(_CAMEL_CASE.search(word))


def _names_in_snippet(snippet: str, book: Book) -> set[str]:
    source = book.snippets[snippet].source if snippet in book.snippets else ""
    names = set(names_in(source))
    for run in book.runs.get(snippet, ()):
        names |= set(_names_in_run(run))
    return names


def _names_in_run(run: Run) -> Iterator[str]:
    """Yield ids of breaks, kinds of guards and operators from the run's artifacts."""
    yield from names_in(run.raised.partition(":")[0])
    for artifact in run.artifacts:
        if isinstance(artifact, Breaks):
            yield from (each.gb_id for each in artifact if each.gb_id)
        elif isinstance(artifact, Guards):
            yield from (guard.type for guard in artifact)
        elif isinstance(artifact, Graph):
            targets = (node.target.removesuffix(".default") for node in artifact.nodes)
            yield from (target.removeprefix("torch.ops.") for target in targets)
        elif isinstance(artifact, Table):
            cells = (cell for row in artifact.rows for cell in row if isinstance(cell, str))
            yield from (word for cell in cells for word in re.findall(r"\bGB\d{4}\b", cell))


def _error_messages(snippet: str, book: Book) -> Iterator[str]:
    """Yield the error and warning messages in the outputs of a snippet's runs."""
    for run in book.runs.get(snippet, ()):
        yield from run.raised.splitlines()[:1]
        for artifact in run.artifacts:
            texts = [artifact.text] if isinstance(artifact, Text) else []
            if isinstance(artifact, Table):
                texts = [cell for row in artifact.rows for cell in row if isinstance(cell, str)]
            for text in texts:
                yield from (" ".join(match[0].split()) for match in _MESSAGE.finditer(text))


def _is_error_name(name: str) -> bool:
    return re.fullmatch(_ERROR, name) is not None


def _error_name(message: str) -> str:
    """Return the error's name at the start of a message; '' if the message has none."""
    head = message.partition(":")[0]
    return head if _NAME.fullmatch(head) else ""


def links_to_places(
    names: Iterable[str], index: Concordance, path_to_root: str
) -> dict[str, list[Place]]:
    """Map each name that has places to its best places, with `path_to_root` before each address."""
    ranked = ((name, index.best_places(name)) for name in names)
    return {
        name: [(path_to_root + url, words) for url, words in places]
        for name, places in ranked
        if places
    }
