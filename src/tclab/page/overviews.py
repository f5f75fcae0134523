"""What the site knows about itself, as tables for its own page."""

from __future__ import annotations

from collections.abc import Iterator

from tclab import render
from tclab.model import Run, Snippet, Table
from tclab.page.book import Book
from tclab.page.outputs import label

_COLUMNS = ("Snippet", "Needs", "Made on", "Where", "Day", "Time", "Peak memory", "Shows")


def table(book: Book) -> str:
    """A row for each run that the site shows."""
    rows = tuple(row for s in book.snippets.values() for row in _rows(book, s))
    units = ("", "", "", "", "", "s", "MiB", "")
    formats = ("", "", "", "", "", ".1f", ",.0f", "")
    shown = Table("Every run on this site", "every-run", _COLUMNS, rows, units, formats)
    return render.figure(shown)


def _rows(book: Book, snippet: Snippet) -> Iterator[tuple[str | float | None, ...]]:
    for run in book.runs[snippet.name]:
        yield (
            snippet.name,
            ", ".join(sorted(snippet.needs)) or None,
            label(run),
            "this build" if run.environment == "here" else f"records/{run.environment}",
            run.provenance.date[:10],
            run.seconds,
            run.peak_memory / 2**20,
            kinds(run) or None,
        )


def kinds(run: Run) -> str:
    """What a run shows, counted by kind: ``2 graph, 1 breaks``."""
    names = [a.kind for a in run.artifacts]
    return ", ".join(f"{names.count(kind)} {kind}" for kind in dict.fromkeys(names))
