"""Render the table of all runs on the site, for the page about the site itself."""

from __future__ import annotations

from collections.abc import Iterator

from tclab import render
from tclab.model import Snippet, Table
from tclab.site.pages.book import Book

_COLUMNS = ("Snippet", "Run", "Day", "Time", "Peak memory")


def runs_table(book: Book) -> render.Html:
    """Return a table with a row for each run that the site shows. All of them are fresh, or the
    build would have failed.
    """
    rows = tuple(row for snippet in book.snippets.values() for row in _make_rows(book, snippet))
    units, formats = ("", "", "", "s", "MiB"), ("", "", "", ".1f", ",.0f")
    title = f"{len(rows)} runs of {len(book.snippets)} snippets"
    return render.figure(Table(title, "every-run", _COLUMNS, rows, units, formats))


def _make_rows(book: Book, snippet: Snippet) -> Iterator[tuple[str | float | None, ...]]:
    for run in book.runs[snippet.name]:
        is_local = run.environment == "here"
        yield (
            snippet.name,
            "this build" if is_local else run.environment,
            run.provenance.date[:10],
            run.seconds,
            run.peak_memory / 2**20,
        )
