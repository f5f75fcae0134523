"""Run many snippets, each in a process of its own, over the cores. Never imports torch."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tclab import machine
from tclab.engine import events
from tclab.engine.events import OnEvent
from tclab.engine.job import Job
from tclab.engine.plan import Plan
from tclab.engine.pool import Lost, Pool
from tclab.engine.worker.protocol import Ended, Message
from tclab.errors import StoreError, TclabError
from tclab.model import Run, Snippet
from tclab.store import keys
from tclab.store.live import Store

_WORTH_WARMING = 3  # snippets; warming takes as long as one cold snippet and a half
_POLL = 0.1  # seconds between two looks at a lock that another build holds

#: Saves a run; StoreError where it cannot.
Keep = Callable[[Run], None]


class StoreFailed(StoreError):
    """Runs could not be kept. `runs` has them all the same."""

    runs: dict[str, Run]


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
    work = _Work(plan, environment, on_event, force, keep or plan.store.save)
    snippets = list(snippets)
    todo = [snippet for snippet in snippets if work.needs_run(snippet)]
    if todo:
        work.width = jobs or int(os.environ.get("TCLAB_JOBS") or 0) or machine.cores()
        on_event(events.Planned(total=len(todo), jobs=work.width))
        warmable = sum(not snippet.alone for snippet in todo)
        warm = warmable >= _WORTH_WARMING if warm is None else warm
        with _workers(plan.store, warm, pool) as workers:
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
class _Work:
    """One call of `run`: what is to do, what runs, what is done."""

    plan: Plan
    environment: str
    on_event: OnEvent
    force: bool
    keep: Keep
    width: int = 1
    todo: list[Job] = field(default_factory=list)
    running: dict[int, Job] = field(default_factory=dict)
    done: dict[str, Run] = field(default_factory=dict)
    troubles: list[StoreError] = field(default_factory=list)
    ready: bool = False

    # ------------------------------------------------------------------ planning

    def needs_run(self, snippet: Snippet) -> bool:
        """False where it cannot run here, or its fresh run was found."""
        status = self.plan.live(snippet)
        if status.state == "lacking":
            self.on_event(events.Skipped(snippet.name, missing=frozenset(status.why)))
            return False
        return self.force or not self._reuse(snippet)

    def _reuse(self, snippet: Snippet, *, again: bool = False) -> bool:
        run = self.plan.fresh_run(snippet, again=again)
        if run is not None:
            self.done[snippet.name] = run
            self.plan.store.forget_failure(snippet.name)
        return run is not None

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
        queue = (Job(s, self.plan, self.environment, solo=s.alone) for s in snippets)
        self.todo = sorted(queue, key=lambda job: job.solo)
        try:
            while self.todo or self.running:
                self._turn(pool)
        finally:
            for job in self.running.values():
                job.release()

    def _turn(self, pool: Pool) -> None:
        try:
            while (job := self._next()) is not None:
                self._start(job, pool)
            if not self.running:
                time.sleep(_POLL if self.todo else 0)
                return
            for message in pool.messages(_POLL):
                self._receive(message)
        except Lost as lost:
            self._lost(pool, lost.log)

    def _next(self) -> Job | None:
        """The next job that may start now, with its lock held; None: wait."""
        for job in list(self.todo):
            if not self._may_start(job):
                continue
            if not job.take_lock():
                self._wait_for_other(job)
                continue
            self.todo.remove(job)
            if not self._take_others(job):
                return job
        return None

    def _may_start(self, job: Job) -> bool:
        beside = self.running.values()
        if len(beside) >= self.width or any(other.solo for other in beside):
            return False
        if job.solo:
            return not beside
        cuda = "cuda" in job.snippet.needs
        return not (cuda and any("cuda" in other.snippet.needs for other in beside))

    def _wait_for_other(self, job: Job) -> None:
        if not job.waited:
            self.on_event(events.Waiting(job.name))
        job.waited = True

    def _take_others(self, job: Job) -> bool:
        """Another build ran it since we planned; take its run."""
        if self.force or not self._reuse(job.snippet, again=True):
            return False
        job.release()
        self.on_event(events.Reused(job.name))
        return True

    # ------------------------------------------------------------------ one job

    def _start(self, job: Job, pool: Pool) -> None:
        key = keys.digest([dict(self.plan.package), keys.provenance_key(self.plan.here)])
        if not pool.running or pool.key != key:
            self.on_event(events.Warming())
            pool.start(key)
            self.ready = False
        try:
            job.prepare(*pool.new_folder())
        except BaseException:
            job.release()
            raise
        self.running[job.number] = job
        pool.send(job.request(pool.cache))

    def _receive(self, message: Message) -> None:
        if message["event"] == "ready":
            self.ready = True
            self.on_event(events.Warm(seconds=message["seconds"], note=message["note"]))
        elif message["event"] == "started":
            self.on_event(events.Started(self.running[message["job"]].name))
        else:
            self._ended(self.running.pop(message["job"]), message)

    def _ended(self, job: Job, report: Ended) -> None:
        run = job.collect(report)
        if job.may_measure_again(run):
            job.measured += 1
            job.release()
            self.todo.append(job)
            self.on_event(events.Again(job.name, run=run))
        else:
            self._finish(job, run)

    def _finish(self, job: Job, run: Run) -> None:
        self.done[run.snippet] = run
        try:
            self.keep(run)
        except StoreError as error:
            self.troubles.append(error)
            self.on_event(events.StoreTrouble(run.snippet, message=str(error)))
        job.release()
        self.on_event(events.Finished(run.snippet, run=run))

    def _lost(self, pool: Pool, log: str) -> None:
        """The supervisor died: blame the one snippet that ran, else run each again alone."""
        victims = list(self.running.values())
        self.running.clear()
        pool.close()
        if not self.ready:
            self._never_ready(pool, log)
        elif len(victims) == 1:
            self._finish(victims[0], victims[0].lost(log))
            return
        for job in victims:
            job.release()
            job.solo = self.ready
            self.todo.insert(0, job)

    def _never_ready(self, pool: Pool, log: str) -> None:
        if pool.mode == "cold":
            raise TclabError("the engine", f"cannot start a Python process:\n{log}", "look there")
        pool.mode = "cold"
        self.on_event(events.Warm(note=f"the warm process died; starting cold ones\n{log}"))
