"""Run many snippets, each in a process of its own, over the cores. Never imports torch."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tclab import machine
from tclab.engine import events
from tclab.engine.events import OnEvent
from tclab.engine.here import Here
from tclab.engine.plan import Plan
from tclab.engine.pool import Pool
from tclab.engine.work import Keep, StoreFailed
from tclab.errors import StoreError
from tclab.model import Run, Snippet
from tclab.store.live import Store

__all__ = ["Keep", "StoreFailed", "run"]

_WORTH_WARMING = 3  # snippets; warming takes as long as one cold snippet and a half


def run(
    snippets: Iterable[Snippet],
    plan: Plan,
    *,
    jobs: int | None = None,
    on_event: OnEvent = events.silent,
    environment: str = "here",
    force: bool = False,
    warm: bool | None = None,
    pool: Pool | None = None,
    keep: Keep | None = None,
) -> dict[str, Run]:
    """Run what is stale of `snippets` (all of them under `force`); the fresh run of each.

    A snippet whose needs this machine lacks is skipped, with an event, and not in the
    result. Failed runs are in the result: look at `run.ok`. StoreFailed at the end, with
    every run in its `runs`, where one could not be kept. `warm`: fork the snippets from a
    process that has compiled once, or start each as a new Python; None: whichever is
    quicker. A `pool` of the caller's stays open for the next call. `keep` saves a run
    elsewhere than in the store. Raises UnsupportedTorch before anything runs.
    """
    machine.check_torch()
    work = Here(plan, environment, on_event, force, keep or plan.store.save)
    snippets = list(snippets)
    todo = [snippet for snippet in snippets if work.needs_run(snippet)]
    if todo:
        work.width = jobs or int(os.environ.get("TCLAB_JOBS") or 0) or machine.cores()
        on_event(events.Planned(total=len(todo), jobs=work.width))
        warm = worth_warming(todo) if warm is None else warm
        with _workers(plan.store, warm, pool) as workers:
            work.run(todo, workers)
    return work.results(snippet.name for snippet in snippets)


def worth_warming(snippets: Iterable[Snippet], workers: int = 1) -> bool:
    """Whether a process that has compiled once saves more than it takes, in each of `workers`."""
    return sum(not snippet.alone for snippet in snippets) >= _WORTH_WARMING * workers


@contextlib.contextmanager
def _workers(store: Store, warm: bool, pool: Pool | None) -> Iterator[Pool]:
    """The caller's pool, or one for this call; where the store cannot be written its own cache."""
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
