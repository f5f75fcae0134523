"""Run jobs on this machine: start the jobs that may start, and handle the supervisor's messages."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from tclab.errors import TclabError
from tclab.model import Snippet
from tclab.site.engine import events
from tclab.site.engine.job import Job
from tclab.site.engine.pool import Pool, SupervisorDied
from tclab.site.engine.work import Work
from tclab.site.engine.worker.protocol import Ended, Message
from tclab.site.store import keys

_POLL = 0.1  # seconds between attempts to take a lock that another build holds


@dataclass
class LocalWork(Work):
    """Work that runs in a pool on this machine, up to `width` jobs at a time."""

    width: int = 1
    todo: list[Job] = field(default_factory=list)
    running: dict[int, Job] = field(default_factory=dict)
    ready: bool = False

    @property
    def busy(self) -> bool:
        """Whether any job waits or runs."""
        return bool(self.todo or self.running)

    def run(self, snippets: Iterable[Snippet], pool: Pool) -> None:
        """Run all snippets. Timed snippets run last, one at a time."""
        for snippet in sorted(snippets, key=lambda each: each.alone):
            self.add(snippet)
        try:
            while self.busy:
                self.advance(pool)
        finally:
            self.release()

    def add(self, snippet: Snippet) -> Job:
        """Queue a snippet as a job."""
        job = Job(snippet, self.plan, self.environment, solo=snippet.alone)
        self.todo.append(job)
        return job

    def release(self) -> None:
        """Release the locks of the running jobs."""
        for job in self.running.values():
            job.release()

    def advance(self, pool: Pool, wake: int | None = None) -> None:
        """Start the jobs that may start, then wait a moment for messages and handle them. The wait
        ends when the descriptor `wake` can be read.
        """
        try:
            while (job := self._next_job()) is not None:
                self._start(job, pool)
            if not self.running:
                time.sleep(_POLL if self.todo else 0)
                return
            for message in pool.messages(_POLL, wake):
                self._receive(message)
        except SupervisorDied as death:
            self._handle_death(pool, death.log)

    def _next_job(self) -> Job | None:
        """Take the next job that may start now, with its lock held; None if all must wait."""
        for job in list(self.todo):
            if not self._may_start(job):
                if job.solo:
                    return None  # later jobs must wait, too, or this job might never run alone
                continue
            if not self.take_lock(job):
                continue
            self.todo.remove(job)
            if not self.take_others_run(job):
                return job
        return None

    def _may_start(self, job: Job) -> bool:
        others = self.running.values()
        if len(others) >= self.width or any(other.solo for other in others):
            return False
        if job.solo:
            return not others
        cuda = "cuda" in job.snippet.needs
        return not (cuda and any("cuda" in other.snippet.needs for other in others))

    # ------------------------------------------------------------------ one job

    def _start(self, job: Job, pool: Pool) -> None:
        key = keys.digest([dict(self.plan.package), keys.provenance_key(self.plan.here)])
        if not pool.is_running or pool.key != key:
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
            self.on_event(events.WarmedUp(seconds=message["seconds"], note=message["note"]))
        elif message["event"] == "started":
            self.on_event(events.Started(self.running[message["job"]].name))
        else:
            self.handle_end(self.running.pop(message["job"]), message)

    def handle_end(self, job: Job, report: Ended) -> None:
        """Save the run of a job whose process has ended, or queue the job to measure it again."""
        run = job.collect(report)
        if job.may_measure_again(run):
            job.measured += 1
            job.solo = True
            job.release()
            self.todo.append(job)
            self.on_event(events.Remeasured(job.name, run=run))
        else:
            self.finish(job, run)

    def _handle_death(self, pool: Pool, log: str) -> None:
        """Handle the supervisor's death. If one snippet was running, it fails; if several were,
        each runs again alone.
        """
        victims = list(self.running.values())
        self.running.clear()
        pool.close()
        if not self.ready:
            self._fall_back_to_cold(pool, log)
        elif len(victims) == 1:
            self.finish(victims[0], victims[0].run_of_dead_supervisor(log))
            return
        for job in victims:
            job.release()
            job.solo = self.ready
            self.todo.insert(0, job)

    def _fall_back_to_cold(self, pool: Pool, log: str) -> None:
        """Start cold processes from now on, because the warm process died before it was ready."""
        if pool.mode == "cold":
            raise TclabError("the engine", f"cannot start a Python process:\n{log}", "look there")
        pool.mode = "cold"
        self.on_event(events.WarmedUp(note=f"the warm process died; starting cold ones\n{log}"))
