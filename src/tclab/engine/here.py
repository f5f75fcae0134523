"""The loop over the jobs of this machine: which may start, what its processes say, who is lost."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from tclab.engine import events
from tclab.engine.job import Job
from tclab.engine.pool import Lost, Pool
from tclab.engine.work import Work
from tclab.engine.worker.protocol import Ended, Message
from tclab.errors import TclabError
from tclab.model import Snippet
from tclab.store import keys

_POLL = 0.1  # seconds between two looks at a lock that another build holds


@dataclass
class Here(Work):
    """Work in the pool of this machine, `width` jobs at a time."""

    width: int = 1
    todo: list[Job] = field(default_factory=list)
    running: dict[int, Job] = field(default_factory=dict)
    ready: bool = False

    @property
    def busy(self) -> bool:
        """There is something to do, or to wait for."""
        return bool(self.todo or self.running)

    def run(self, snippets: Iterable[Snippet], pool: Pool) -> None:
        """Run all of them; those that are timed come last, one at a time."""
        for snippet in sorted(snippets, key=lambda each: each.alone):
            self.add(snippet)
        try:
            while self.busy:
                self.turn(pool)
        finally:
            self.release()

    def add(self, snippet: Snippet) -> Job:
        """One more to do."""
        job = Job(snippet, self.plan, self.environment, solo=snippet.alone)
        self.todo.append(job)
        return job

    def release(self) -> None:
        """Let others run what runs here."""
        for job in self.running.values():
            job.release()

    def turn(self, pool: Pool, wake: int | None = None) -> None:
        """Start what may start and hear what happened, for a moment, or until there is something
        to read from the descriptor `wake`.
        """
        try:
            while (job := self._next()) is not None:
                self._start(job, pool)
            if not self.running:
                time.sleep(_POLL if self.todo else 0)
                return
            for message in pool.messages(_POLL, wake):
                self._receive(message)
        except Lost as lost:
            self._lost(pool, lost.log)

    def _next(self) -> Job | None:
        """The next job that may start now, with its lock held; None: wait."""
        for job in list(self.todo):
            if not self._may_start(job):
                if job.solo:
                    return None  # what came after it waits, too, or it might never be alone
                continue
            if not self.take_lock(job):
                continue
            self.todo.remove(job)
            if not self.take_others(job):
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
            self.ended(self.running.pop(message["job"]), message)

    def ended(self, job: Job, report: Ended) -> None:
        """The process of a job is over."""
        run = job.collect(report)
        if job.may_measure_again(run):
            job.measured += 1
            job.solo = True
            job.release()
            self.todo.append(job)
            self.on_event(events.Again(job.name, run=run))
        else:
            self.finish(job, run)

    def _lost(self, pool: Pool, log: str) -> None:
        """The supervisor died: blame the one snippet that ran, else run each again alone."""
        victims = list(self.running.values())
        self.running.clear()
        pool.close()
        if not self.ready:
            self._never_ready(pool, log)
        elif len(victims) == 1:
            self.finish(victims[0], victims[0].lost(log))
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
