"""What a step between two PyTorches changed of what this site says: its sentences, its beliefs.

A snippet on a step shows the tables `claims` and `beliefs`, a row each that differs: its name, what
came of it under the one, and under the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tclab import render
from tclab.errors import PageError
from tclab.model import Run, Table
from tclab.page.blocks import Block
from tclab.page.book import Book
from tclab.page.prose.sentences import Sentence
from tclab.page.site import verdicts
from tclab.render import parts
from tclab.render.escape import Html, esc, join, tag

#: What came of a claim whose assert was true.
_HELD = "held"
# [the words](https://…), [](value:…), **the words**
_MARKUP = re.compile(r"\[([^\[\]]*)\]\([^()]*\)|\*+([^*`]+)\*+")


def html(block: Block, book: Book, run: Run) -> Html:
    """Sentences and beliefs, each a link to where it stands."""
    claims, beliefs = _table(block, run, "claims"), _table(block, run, "beliefs")
    before, after = claims.columns[1:]
    gone = [row for row in claims.rows if row[1] == _HELD]
    come = [row for row in claims.rows if row[2] == _HELD]
    pieces = [
        *_sentences(block, book, f"Held in {before}, not in {after}", gone),
        *_sentences(block, book, f"Holds in {after}, not in {before}", come),
        *_beliefs(block, book, beliefs),
    ]
    none = parts.note("No sentence and no belief that was tried on both differs.")
    return join([*(pieces or [none]), render.stamp(run)])


def _table(block: Block, run: Run, name: str) -> Table:
    try:
        table = run.artifact(name)
    except KeyError as error:
        raise PageError(block.place, str(error.args[0]), "name a snippet on a step") from None
    assert isinstance(table, Table)
    return table


def _sentences(
    block: Block, book: Book, head: str, rows: Sequence[tuple[object, ...]]
) -> Iterator[Html]:
    """One table; an assert without a sentence stands under its own name."""
    if rows:
        cells = dict.fromkeys(line for row in rows for line in _of_claim(block, book, str(row[0])))
        yield parts.table([head, "page"], cells, label=head, search=False)


def _of_claim(block: Block, book: Book, claim: str) -> Iterator[tuple[Html, Html]]:
    name, _, own = claim.partition("#")
    said = [each for each in book.sentences if (name, own) in each.claims]
    for each in said:
        link = tag(
            "a", parts.prose(_title(book, each.page)), href=block.on.link(book.url(each.page))
        )
        yield parts.prose(_plain(_whole(book, each))), link
    if not said:
        yield tag("code", esc(claim)), parts.DASH


def _plain(text: str) -> str:
    """Its words: a bound sentence may have a link within."""
    return _MARKUP.sub(r"\1\2", _MARKUP.sub(r"\1\2", text))


def _whole(book: Book, part: Sentence) -> str:
    """The sentence as written of which a claim carries a part; the part where none is found."""
    page = book.pages.get(part.page)
    if page is None:  # a lab's cell
        return part.text
    link = page.text[part.start : part.end]
    return next((each.text for each in page.prose if link in each.text), part.text)


def _title(book: Book, page: str) -> str:
    headings = book.pages[page].headings if page in book.pages else ()
    return next((each.words for each in headings if each.level == 1), page)


def _beliefs(block: Block, book: Book, table: Table) -> Iterator[Html]:
    if table.rows:
        pages = verdicts.links(block, book)
        rows = [[tag("a", parts.prose(str(row[0])), href=pages[str(row[0])]) if str(row[0]) in pages
                 else parts.prose(str(row[0])), *(parts.prose(str(cell)) for cell in row[1:])]
                for row in table.rows]  # fmt: skip
        yield parts.table(table.columns, rows, label="Beliefs", search=False)
