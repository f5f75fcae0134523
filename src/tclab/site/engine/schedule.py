"""Run snippets in parallel, each in a process of its own. This module does not import torch."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tclab.errors import StoreError
from tclab.model import Run, Snippet
from tclab.site.engine import events
from tclab.site.engine.events import OnEvent
from tclab.site.engine.local_work import LocalWork
from tclab.site.engine.plan import Plan
from tclab.site.engine.pool import Pool
from tclab.site.engine.work import SaveRun, StoreFailed
from tclab.site.store.local_runs import Store
from tclab.system import machine

__all__ = ["SaveRun", "StoreFailed", "run"]

_LEAST_FOR_WARMING = 3  # a number of snippets; warming up takes as long as 1.5 cold snippets


def run(
    snippets: Iterable[Snippet],
    plan: Plan,
    *,
    jobs: int | None = None,
    on_event: OnEvent = events.ignore_event,
    environment: str = "here",
    force: bool = False,
    warm: bool | None = None,
    pool: Pool | None = None,
    keep: SaveRun | None = None,
) -> dict[str, Run]:
    """Run the stale snippets among `snippets` (with `force`, all of them); return all runs by name.

    A snippet whose needs this machine lacks is skipped, with an event, and is not in the result.
    Failed runs are in the result: look at `run.ok`. If a run could not be saved, StoreFailed is
    raised at the end, with every run in its `runs`. `warm` says whether to fork the snippets from a
    process that has compiled once, or to start each as a new Python; None chooses the faster way. A
    `pool` of the caller stays open for the next call. `keep` is a function that saves a run in
    place of the store. Raises UnsupportedTorch before anything runs.
    """
    machine.check_torch()
    work = LocalWork(plan, environment, on_event, force, keep or plan.store.save)
    snippets = list(snippets)
    todo = [snippet for snippet in snippets if work.needs_run(snippet)]
    if todo:
        work.width = jobs or int(os.environ.get("TCLAB_JOBS") or 0) or machine.count_cores()
        on_event(events.Planned(total=len(todo), jobs=work.width))
        warm = should_warm(todo) if warm is None else warm
        with _open_pool(plan.store, warm, pool) as workers:
            work.run(todo, workers)
    return work.results(snippet.name for snippet in snippets)


def should_warm(snippets: Iterable[Snippet], workers: int = 1) -> bool:
    """Return whether warming up one process on each of `workers` saves more time than it takes."""
    return sum(not snippet.alone for snippet in snippets) >= _LEAST_FOR_WARMING * workers


@contextlib.contextmanager
def _open_pool(store: Store, warm: bool, pool: Pool | None) -> Iterator[Pool]:
    """Yield the caller's pool, or a new one, with a temporary cache if the store is read-only."""
    if pool is not None:
        yield pool
        return
    with contextlib.ExitStack() as stack:
        try:
            store.check_writable()
            cache = store.cache
        except StoreError:
            cache = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tclab-cache-")))
        yield stack.enter_context(Pool(cache.absolute(), warm))
