"""Which chapter shows a name: an operator, a setting, a break, a log, a kind of guard.

Read from the code in the prose of the pages, from the snippets they use, and from what these
showed when they ran.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from markdown.extensions.toc import slugify, unique

from tclab.model import Breaks, Graph, Guards, Run, Table, Text
from tclab.page.book import Book
from tclab.page.prose.text import PageText

#: An entry names so many places at most.
MOST = 2

#: The folder of the pages that list names: they are not where a name is shown.
REFERENCE = "reference/"

_CODE = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_MARKUP = re.compile(r"[`*]|\[([^\]]*)\]\([^)]*\)")
#: Where a plain word is a name: `TORCH_LOGS="fusion,schedule"`, `backend="eager"`, `config.cse`
_PLAIN = re.compile(r"""(?:TORCH_LOGS=|backend=|mode=|config\.)["']?([+\w,.-]+)""")

#: A message of an error or a warning, as a run's table or text has it.
_ERROR = r"\w*(?:Error|Exception|Warning|Unsupported|Failed|Hit)\b"
_MESSAGE = re.compile(rf"^.*?\b{_ERROR}[^:\n]{{0,40}}: (?=.{{20}}).*$", re.MULTILINE)
_CAMEL = re.compile(r"[a-z][A-Z]")

Place = tuple[str, str]  # address from the site's root, words


@dataclass
class Concordance:
    """Name → the places that show it and how often, in the order of the book."""

    places: dict[str, dict[Place, int]] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)  # those that prose names
    messages: dict[str, Place] = field(default_factory=dict)  # of errors that runs showed

    def note(self, names: Iterable[str], place: Place) -> None:
        """Count `place` for each name."""
        for name in names:
            known = self.places.setdefault(name, {})
            known[place] = known.get(place, 0) + 1

    def best(self, name: str) -> list[Place]:
        """The places that show it most; of equals the first."""
        known = self.places.get(name, {})
        return sorted(known, key=lambda place: -known[place])[:MOST]

    def weight(self, name: str) -> int:
        """How often the book shows it."""
        return sum(self.places.get(name, {}).values())


def concordance(book: Book, order: Iterable[str]) -> Concordance:
    """Read every page of the book but those of the reference; `order` has their addresses."""
    index = Concordance()
    for url in order:
        text = book.page_at(url)
        if text and not url.startswith(REFERENCE):
            for names, place, snippet in _on_page(text, url, book):
                index.note(names, place)
                index.named |= set(filter(_is_error, names)) if snippet else names
                for message in _messages(snippet, book):
                    index.messages.setdefault(message, place)
                    kinds = set(names_in(_kind(message)))
                    index.note(kinds - names, place)
                    index.named |= kinds
    return index


def _on_page(text: PageText, url: str, book: Book) -> Iterator[tuple[set[str], Place, str]]:
    """What each line names, under which heading, and the snippet that it uses, or ''."""
    headings = {heading.line: heading.words for heading in text.headings if heading.level <= 3}
    taken: set[str] = set()
    place = (url, PurePosixPath(text.page).stem)
    for number, line in text.lines:
        if number in headings:
            words = _MARKUP.sub(lambda m: m[1] or "", headings[number])
            place = (f"{url}#{unique(slugify(words, '-'), taken)}", words)
        elif number not in text.fenced:
            yield {n for code in _CODE.findall(line) for n in names_in(code)}, place, ""
        for use in (use for use in text.uses if use.line == number):
            yield _shown_by(use.snippet, book), place, use.snippet


def names_in(code: str) -> Iterator[str]:
    """The names in a piece of code, each with the ends of a dotted one; of plain words only those
    that stand where a log, a backend or a setting does.
    """
    for plain in _PLAIN.findall(code):
        yield from (word.strip("+-") for word in re.split(r"[,.]", plain))
    for dotted in _NAME.findall(code):
        pieces = dotted.split(".")
        ends = (".".join(pieces[start:]) for start in range(len(pieces)))
        yield from (end for end in ends if is_name(end))


def is_name(word: str) -> bool:
    """Whether a word cannot be a plain one: `recompile_limit`, `aten.mm`, `OptimizedModule`."""
    return not word.isalpha() or word.isupper() or bool(_CAMEL.search(word))


def _shown_by(snippet: str, book: Book) -> set[str]:
    source = book.snippets[snippet].source if snippet in book.snippets else ""
    named = set(names_in(source))
    for run in book.runs.get(snippet, ()):
        named |= set(_reported(run))
    return named


def _reported(run: Run) -> Iterator[str]:
    """Ids of breaks, kinds of guards, operators: what the run's artifacts name."""
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


def _messages(snippet: str, book: Book) -> Iterator[str]:
    """The messages of errors and warnings that a snippet's runs showed, or ended with."""
    for run in book.runs.get(snippet, ()):
        yield from run.raised.splitlines()[:1]
        for artifact in run.artifacts:
            texts = [artifact.text] if isinstance(artifact, Text) else []
            if isinstance(artifact, Table):
                texts = [cell for row in artifact.rows for cell in row if isinstance(cell, str)]
            for text in texts:
                yield from (" ".join(match[0].split()) for match in _MESSAGE.finditer(text))


def _is_error(name: str) -> bool:
    return re.fullmatch(_ERROR, name) is not None


def _kind(message: str) -> str:
    """The name of the error that a message begins with; '' where it begins otherwise."""
    head = message.partition(":")[0]
    return head if _NAME.fullmatch(head) else ""


def links(names: Iterable[str], index: Concordance, up: str) -> dict[str, list[Place]]:
    """Of the names that are shown, the places, with `up` before each address."""
    every = ((name, index.best(name)) for name in names)
    return {name: [(up + url, words) for url, words in places] for name, places in every if places}
