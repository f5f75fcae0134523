"""What the site knows about itself, as tables for its own page."""

from __future__ import annotations

from collections.abc import Iterator

from tclab import render
from tclab.model import Snippet, Table
from tclab.page.book import Book

_COLUMNS = ("Snippet", "Run", "Day", "Time", "Peak memory")


def table(book: Book) -> render.Html:
    """A row for each run that the site shows; all of them are fresh, or there is no site."""
    rows = tuple(row for snippet in book.snippets.values() for row in _rows(book, snippet))
    units, formats = ("", "", "", "s", "MiB"), ("", "", "", ".1f", ",.0f")
    title = f"{len(rows)} runs of {len(book.snippets)} snippets"
    return render.figure(Table(title, "every-run", _COLUMNS, rows, units, formats))


def _rows(book: Book, snippet: Snippet) -> Iterator[tuple[str | float | None, ...]]:
    for run in book.runs[snippet.name]:
        here = run.environment == "here"
        yield (
            snippet.name,
            "this build" if here else run.environment,
            run.provenance.date[:10],
            run.seconds,
            run.peak_memory / 2**20,
        )
