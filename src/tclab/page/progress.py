"""Run the stale snippets of a build, with progress on the terminal."""

from __future__ import annotations

import logging

from tclab import terminal
from tclab.engine import events, schedule
from tclab.engine.doors import far
from tclab.engine.pool import Pool
from tclab.model import Run, Snippet
from tclab.page.book import Book

log = logging.getLogger("mkdocs.plugins.tclab")


def run(book: Book, stale: list[Snippet]) -> dict[str, Run]:
    """Run `stale` side by side, telling the terminal unless the build is quiet."""
    log.info("tclab: running %d of %d snippets", len(stale), len(book.all))
    if not log.isEnabledFor(logging.INFO):
        return _run(book, stale, events.silent)
    with terminal.progress(len(stale)) as on_event:
        return _run(book, stale, on_event)


def _run(book: Book, stale: list[Snippet], on_event: events.OnEvent) -> dict[str, Run]:
    if door := far.Door.given(None):
        outcome = far.run(stale, book.plan, door, on_event=on_event)
        for name, why in outcome.refused.items():
            log.warning("tclab: %s ran nowhere on %s: %s", name, door.on, why)
        return outcome.runs
    pool = _serving.pool(book) if _serving else None
    return schedule.run(stale, book.plan, on_event=on_event, pool=pool)


# --------------------------------------------------------------------------- mkdocs serve


class _Serving:
    """Keeps the warm process between the builds of `mkdocs serve`."""

    def __init__(self) -> None:
        self._pool: Pool | None = None

    def pool(self, book: Book) -> Pool:
        if self._pool is None:
            self._pool = Pool(book.plan.store.cache.absolute())
        return self._pool

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()


_serving: _Serving | None = None


def start_serving() -> None:
    """From now on one warm process runs the snippets of every build."""
    global _serving
    _serving = _Serving()


def stop_serving() -> None:
    """End that process."""
    global _serving
    if _serving is not None:
        _serving.close()
    _serving = None
