"""Run many snippets, each in a process of its own, over the cores. Never imports torch."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tclab import machine
from tclab.engine import events
from tclab.engine import job as job_files
from tclab.engine.events import OnEvent
from tclab.engine.pool import Lost, Pool
from tclab.errors import StoreError, TclabError
from tclab.model import Provenance, Run, Snippet
from tclab.store import keys
from tclab.store.live import Lock, Store

_WORTH_WARMING = 3  # snippets; warming takes as long as one cold snippet and a half
_POLL = 0.1  # seconds between two looks at a lock that another build holds


class StoreFailed(StoreError):
    """Runs could not be kept. `runs` has them all the same."""

    runs: dict[str, Run]


def run(
    snippets: Iterable[Snippet],
    *,
    root: Path,
    store: Store | None = None,
    jobs: int | None = None,
    on_event: OnEvent = events.silent,
    environment: str = "here",
    force: bool = False,
    warm: bool | None = None,
    pool: Pool | None = None,
    keep: Callable[[Run], None] | None = None,
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
    store = store or Store.of(root)
    work = _Work(root, store, environment, on_event, force, keep or store.save)
    snippets = list(snippets)
    todo = [snippet for snippet in snippets if work.needs_run(snippet)]
    if todo:
        work.width = jobs or int(os.environ.get("TCLAB_JOBS") or 0) or machine.cores()
        on_event(events.Planned(total=len(todo), jobs=work.width))
        warmable = sum(not snippet.alone for snippet in todo)
        warm = warmable >= _WORTH_WARMING if warm is None else warm
        with _workers(store, warm, pool) as workers:
            work.run(todo, workers)
    return work.results(snippet.name for snippet in snippets)


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


@dataclass
class _Task:
    """A snippet to run. `solo`: with nothing beside it."""

    snippet: Snippet
    solo: bool
    key: str = ""
    waited: bool = False
    lock: Lock | None = None
    folder: Path = field(default_factory=Path)


@dataclass
class _Work:
    """One call of `run`: what is to do, what runs, what is done."""

    root: Path
    store: Store
    environment: str
    on_event: OnEvent
    force: bool
    keep: Callable[[Run], None]
    width: int = 1
    todo: list[_Task] = field(default_factory=list)
    running: dict[int, _Task] = field(default_factory=dict)
    done: dict[str, Run] = field(default_factory=dict)
    troubles: list[StoreError] = field(default_factory=list)
    ready: bool = False

    def __post_init__(self) -> None:
        self.here: Provenance = machine.here()
        # Fixed at the start: an edit of tclab while it runs makes these runs stale, not wrong.
        self.capture = keys.capture_key()

    # ------------------------------------------------------------------ planning

    def needs_run(self, snippet: Snippet) -> bool:
        """False where it cannot run here, or its fresh run was found."""
        if missing := machine.missing_needs(snippet):
            self.on_event(events.Skipped(snippet.name, missing=frozenset(missing)))
            return False
        return self.force or not self._reuse(snippet)

    def _reuse(self, snippet: Snippet) -> bool:
        found = self.store.fresh(snippet, self.here)
        if found is not None:
            self.done[snippet.name] = found
            self.store.forget_failure(snippet.name)
        return found is not None

    def results(self, order: Iterable[str]) -> dict[str, Run]:
        """Every run, in this order; StoreFailed where one could not be kept."""
        runs = {name: self.done[name] for name in order if name in self.done}
        if self.troubles:
            first = self.troubles[0]
            failed = StoreFailed(first.place, first.cause, first.next_step)
            failed.runs = runs
            raise failed
        return runs

    # ------------------------------------------------------------------ the loop

    def run(self, snippets: list[Snippet], pool: Pool) -> None:
        """Run all of them; those that are timed come last, one at a time."""
        self.todo = sorted((_Task(s, s.alone) for s in snippets), key=lambda task: task.solo)
        try:
            while self.todo or self.running:
                self._turn(pool)
        finally:
            for task in self.running.values():
                self._release(task)

    def _turn(self, pool: Pool) -> None:
        try:
            while (task := self._next()) is not None:
                self._start(task, pool)
            if not self.running:
                time.sleep(_POLL if self.todo else 0)
                return
            for report in pool.reports(_POLL):
                self._hear(report)
        except Lost as lost:
            self._lost(pool, lost.log)

    def _next(self) -> _Task | None:
        """The next task that may start now, with its lock held; None: wait."""
        for task in list(self.todo):
            if not self._may_start(task):
                continue
            task.lock = self.store.lock(task.snippet.name)
            if task.lock is None:
                self._wait_for_other(task)
                continue
            self.todo.remove(task)
            if not self._take_others(task):
                return task
        return None

    def _may_start(self, task: _Task) -> bool:
        beside = self.running.values()
        if len(beside) >= self.width or any(other.solo for other in beside):
            return False
        if task.solo:
            return not beside
        cuda = "cuda" in task.snippet.needs
        return not (cuda and any("cuda" in other.snippet.needs for other in beside))

    def _wait_for_other(self, task: _Task) -> None:
        if not task.waited:
            self.on_event(events.Waiting(task.snippet.name))
        task.waited = True

    def _take_others(self, task: _Task) -> bool:
        """Another build ran it since we planned; take its run."""
        if self.force or not self._reuse(task.snippet):
            return False
        self._release(task)
        self.on_event(events.Reused(task.snippet.name))
        return True

    # ------------------------------------------------------------------ one task

    def _start(self, task: _Task, pool: Pool) -> None:
        key = keys.digest([self.capture, keys.environment_key(self.here)])
        if not pool.running or pool.key != key:
            self.on_event(events.Warming())
            pool.start(key)
            self.ready = False
        task.key = keys.run_key(task.snippet, self.here, self.capture)
        number, task.folder = pool.new_folder()
        self.running[number] = task
        job_files.prepare(task.folder, task.snippet, self.root.absolute())
        pool.send(job_files.request(number, task.folder, task.snippet, pool.cache))

    def _hear(self, report: dict[str, Any]) -> None:
        if report["event"] == "ready":
            self.ready = True
            self.on_event(events.Warm(seconds=report["seconds"], note=report["note"]))
        elif report["event"] == "started":
            name = self.running[report["job"]].snippet.name
            self.on_event(events.Started(name, pid=report["pid"]))
        elif report["event"] == "ended":
            task = self.running.pop(report["job"])
            made = (task.snippet, self.here, self.environment, task.key)
            self._finish(task, job_files.collect(task.folder, report, *made))

    def _finish(self, task: _Task, run: Run) -> None:
        self.done[run.snippet] = run
        job_files.remove(task.folder)
        try:
            self.keep(run)
        except StoreError as error:
            self.troubles.append(error)
            self.on_event(events.StoreTrouble(run.snippet, message=str(error)))
        self._release(task)
        self.on_event(events.Finished(run.snippet, run=run))

    @staticmethod
    def _release(task: _Task) -> None:
        if task.lock is not None:
            task.lock.release()
        task.lock = None

    def _lost(self, pool: Pool, log: str) -> None:
        """The supervisor died: blame the one snippet that ran, else run each again alone."""
        victims = list(self.running.values())
        self.running.clear()
        pool.close()
        if not self.ready:
            self._never_ready(pool, log)
        elif len(victims) == 1:
            task = victims[0]
            made = (task.snippet, self.here, self.environment, task.key)
            self._finish(task, job_files.lost(log, *made))
            return
        for task in victims:
            self._release(task)
            task.solo = self.ready
            self.todo.insert(0, task)

    def _never_ready(self, pool: Pool, log: str) -> None:
        if pool.mode == "cold":
            raise TclabError("the engine", f"cannot start a Python process:\n{log}", "look there")
        pool.mode = "cold"
        self.on_event(events.Warm(note=f"the warm process died; starting cold ones\n{log}"))
