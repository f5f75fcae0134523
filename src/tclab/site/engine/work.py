"""Keep the state of one call that runs snippets, here or on a cluster: reuse fresh runs, take
locks, save the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tclab.errors import StoreError
from tclab.model import Run, Snippet
from tclab.site.engine import events
from tclab.site.engine.events import OnEvent
from tclab.site.engine.job import Job
from tclab.site.engine.plan import Plan

#: A function that saves a run; it raises StoreError if that is not possible.
SaveRun = Callable[[Run], None]


class StoreFailed(StoreError):
    """Raised if runs could not be saved. `runs` has all runs, including these."""

    runs: dict[str, Run]


@dataclass
class Work:
    """The state of one call that runs snippets, with the runs that are done."""

    plan: Plan
    environment: str
    on_event: OnEvent
    force: bool
    keep: SaveRun
    done: dict[str, Run] = field(default_factory=dict)
    troubles: list[StoreError] = field(default_factory=list)

    def needs_run(self, snippet: Snippet) -> bool:
        """Return whether the snippet must run. It need not run if it cannot run here, or if its
        fresh run was taken.
        """
        status = self.plan.local_status(snippet)
        if status.state == "lacking":
            self.on_event(events.Skipped(snippet.name, missing=frozenset(status.why)))
            return False
        return self.force or not self.reuse(snippet)

    def reuse(self, snippet: Snippet, *, recheck: bool = False) -> bool:
        """Take the fresh run if there is one; return whether there was one. For `recheck` see
        `Plan.fresh_run`.
        """
        run = self.plan.fresh_run(snippet, recheck=recheck)
        if run is not None:
            self.done[snippet.name] = run
            self.plan.store.forget_failure(snippet.name)
        return run is not None

    def take_lock(self, job: Job) -> bool:
        """Take the lock of a job. While another process holds the lock, return False, and report
        that once.
        """
        if job.take_lock():
            return True
        if not job.waited:
            self.on_event(events.Waiting(job.name))
        job.waited = True
        return False

    def take_others_run(self, job: Job) -> bool:
        """Take the run that another build has made meanwhile; return whether there is such a
        run.
        """
        if self.force or not self.reuse(job.snippet, recheck=True):
            return False
        job.release()
        self.on_event(events.Reused(job.name))
        return True

    def finish(self, job: Job, run: Run, worker: str = "") -> None:
        """Save the run of a job and release its lock; `worker` made the run, '' for this
        machine.
        """
        self.done[run.snippet] = run
        try:
            self.keep(run)
        except StoreError as error:
            self.troubles.append(error)
            self.on_event(events.SaveFailed(run.snippet, message=str(error)))
        job.release()
        self.on_event(events.Finished(run.snippet, run=run, worker=worker))

    def results(self, order: Iterable[str]) -> dict[str, Run]:
        """Return all runs, in this order. Raises StoreFailed if one could not be saved."""
        runs = {name: self.done[name] for name in order if name in self.done}
        if self.troubles:
            first = self.troubles[0]
            failed = StoreFailed(first.place, first.cause, first.next_step)
            failed.runs = runs
            raise failed
        return runs
