"""Run the stale snippets of a build, with progress on the terminal."""

from __future__ import annotations

import logging
from importlib.util import find_spec

from tclab.engine import events, schedule
from tclab.engine.pool import Pool
from tclab.model import Run, Snippet
from tclab.page.book import Book

#: From this many stale snippets on, warming a process up costs less than it saves.
WARM_FROM = 4

log = logging.getLogger("mkdocs.plugins.tclab")


def run(book: Book, stale: list[Snippet]) -> dict[str, Run]:
    """Run `stale` side by side, telling the terminal unless the build is quiet."""
    log.info("tclab: running %d of %d snippets", len(stale), len(book.snippets))
    if not log.isEnabledFor(logging.INFO):
        return _run(book, stale, events.silent)
    if find_spec("rich") is None:
        return _run(book, stale, _log)
    from tclab import terminal

    with terminal.progress(len(stale)) as on_event:
        return _run(book, stale, on_event)


def _run(book: Book, stale: list[Snippet], on_event: events.OnEvent) -> dict[str, Run]:
    return schedule.run(
        stale,
        book.plan,
        on_event=on_event,
        warm=len(stale) >= WARM_FROM,
        pool=_serving.pool(book) if _serving else None,
    )


def _log(event: events.Event) -> None:
    """One line for a snippet that ended."""
    if isinstance(event, events.Finished) and event.run is not None:
        result = event.run.failure.cause if event.run.failure else "ok"
        log.info("tclab: %s: %s, %.1f s", event.snippet, result, event.run.seconds)


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
