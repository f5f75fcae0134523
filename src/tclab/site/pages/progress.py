"""Run the stale snippets of a build, with progress on the terminal."""

from __future__ import annotations

import logging

from tclab.model import Run, Snippet
from tclab.site import run_views
from tclab.site.engine import events, schedule
from tclab.site.engine.pool import Pool
from tclab.site.pages.book import Book
from tclab.site.remote import client

log = logging.getLogger("mkdocs.plugins.tclab")


def run_stale(book: Book, stale: list[Snippet]) -> dict[str, Run]:
    """Run the `stale` snippets in parallel; show progress unless the build is quiet."""
    log.info("tclab: running %d of %d snippets", len(stale), len(book.all_snippets))
    if not log.isEnabledFor(logging.INFO):
        return _run(book, stale, events.ignore_event)
    with run_views.progress(len(stale)) as on_event:
        return _run(book, stale, on_event)


def _run(book: Book, stale: list[Snippet], on_event: events.OnEvent) -> dict[str, Run]:
    if cluster := client.ClusterAddress.from_option(None):
        outcome = client.run(stale, book.plan, cluster, on_event=on_event)
        for name, why in outcome.refused.items():
            log.warning("tclab: %s ran nowhere on %s: %s", name, cluster.address, why)
        return outcome.runs
    pool = _serving.pool(book) if _serving else None
    return schedule.run(stale, book.plan, on_event=on_event, pool=pool)


# --------------------------------------------------------------------------- mkdocs serve


class _Serving:
    """Keeps the warm worker process between the builds of `mkdocs serve`."""

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
    """Use one warm process for the snippets of all builds from now on."""
    global _serving
    _serving = _Serving()


def stop_serving() -> None:
    """End the warm process."""
    global _serving
    if _serving is not None:
        _serving.close()
    _serving = None
