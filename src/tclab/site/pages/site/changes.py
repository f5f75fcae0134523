"""Render the block `changes`: the sentences and beliefs that differ between two PyTorch versions.

Its snippet shows the tables `claims` and `beliefs`. Each row is a difference: the name, the result
under the older version, and the result under the newer one.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence

from tclab import render
from tclab.errors import PageError
from tclab.model import Run, Table
from tclab.render import parts
from tclab.render.escape import Html, esc, join, tag
from tclab.site.pages.book import Book
from tclab.site.pages.prose.sentences import Sentence
from tclab.site.pages.rendering import RunningBlock
from tclab.site.pages.site import verdicts

#: A sentence and the page that it stands on.
_Line = tuple[Html, Html]
#: The result of a claim whose assert was true.
_HELD = "held"
# [the words](https://…), [](value:…), **the words**
_MARKUP = re.compile(r"\[([^\[\]]*)\]\([^()]*\)|\*+([^*`]+)\*+")


def html(block: RunningBlock, book: Book, run: Run) -> Html:
    """Render the changed sentences and beliefs with links to their pages."""
    claims, beliefs = _changed_table(block, run, "claims"), _changed_table(block, run, "beliefs")
    before, after = claims.columns[1:]
    held, holds = (
        _find_sentences(block, book, [row for row in claims.rows if row[column] == _HELD])
        for column in (1, 2)
    )
    # A sentence in both tables speaks of several versions, and is as true as before.
    pieces = [
        *_sentences_table(f"Held in {before}, not in {after}", held, holds),
        *_sentences_table(f"Holds in {after}, not in {before}", holds, held),
        *_beliefs_table(block, book, beliefs),
    ]
    nothing = parts.note("No sentence and no belief that was tried on both differs.")
    return join([*(pieces or [nothing]), render.stamp(run)])


def _changed_table(block: RunningBlock, run: Run, name: str) -> Table:
    try:
        table = run.artifact(name)
    except KeyError as error:
        raise PageError(block.place, str(error.args[0]), "name a snippet on a step") from None
    assert isinstance(table, Table)
    return table


def _find_sentences(
    block: RunningBlock, book: Book, rows: Sequence[tuple[object, ...]]
) -> dict[_Line, None]:
    """Return the sentences on these claims, in order; a claim without a sentence appears by its
    name.
    """
    return dict.fromkeys(line for row in rows for line in _claim_rows(block, book, str(row[0])))


def _sentences_table(
    head: str, lines: Mapping[_Line, None], others: Container[_Line]
) -> Iterator[Html]:
    """Yield a table of the sentences that are not among the others, if there are any."""
    if own := [line for line in lines if line not in others]:
        yield parts.table([head, "page"], own, label=head, search=False)


def _claim_rows(block: RunningBlock, book: Book, claim: str) -> Iterator[_Line]:
    name, _, claim_name = claim.partition("#")
    sentences = [each for each in book.sentences if (name, claim_name) in each.claims]
    for each in sentences:
        link = tag(
            "a",
            parts.prose(_page_title(book, each.page)),
            href=block.page.link(book.url(each.page)),
        )
        yield parts.prose(_plain_text(_full_sentence(book, each))), link
    if not sentences:
        yield tag("code", esc(claim)), parts.DASH


def _plain_text(text: str) -> str:
    """Remove links and emphasis; twice, because a bound sentence may contain a link."""
    return _MARKUP.sub(r"\1\2", _MARKUP.sub(r"\1\2", text))


def _full_sentence(book: Book, bound_part: Sentence) -> str:
    """Return the full sentence around a bound part; the part itself if none is found."""
    page = book.pages.get(bound_part.page)
    if page is None:  # a lab's cell
        return bound_part.text
    link = page.text[bound_part.start : bound_part.end]
    return next((each.text for each in page.statements if link in each.text), bound_part.text)


def _page_title(book: Book, page: str) -> str:
    headings = book.pages[page].headings if page in book.pages else ()
    return next((each.words for each in headings if each.level == 1), page)


def _beliefs_table(block: RunningBlock, book: Book, table: Table) -> Iterator[Html]:
    if table.rows:
        pages = verdicts.belief_links(block, book)
        rows = [[tag("a", parts.prose(str(row[0])), href=pages[str(row[0])]) if str(row[0]) in pages
                 else parts.prose(str(row[0])), *(parts.prose(str(cell)) for cell in row[1:])]
                for row in table.rows]  # fmt: skip
        yield parts.table(table.columns, rows, label="Beliefs", search=False)
