"""What is to be run, by whatever door: what is fresh already, whose turn it is, what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tclab.engine import events
from tclab.engine.events import OnEvent
from tclab.engine.job import Job
from tclab.engine.plan import Plan
from tclab.errors import StoreError
from tclab.model import Run, Snippet

#: Saves a run; StoreError where it cannot.
Keep = Callable[[Run], None]


class StoreFailed(StoreError):
    """Runs could not be kept. `runs` has them all the same."""

    runs: dict[str, Run]


@dataclass
class Work:
    """One call that runs snippets: what is to do, and what is done."""

    plan: Plan
    environment: str
    on_event: OnEvent
    force: bool
    keep: Keep
    done: dict[str, Run] = field(default_factory=dict)
    troubles: list[StoreError] = field(default_factory=list)

    def needs_run(self, snippet: Snippet) -> bool:
        """False where it cannot run here, or its fresh run was found."""
        status = self.plan.live(snippet)
        if status.state == "lacking":
            self.on_event(events.Skipped(snippet.name, missing=frozenset(status.why)))
            return False
        return self.force or not self.reuse(snippet)

    def reuse(self, snippet: Snippet, *, again: bool = False) -> bool:
        """Whether a fresh run was found, which is taken. `again`: others may have made it since."""
        run = self.plan.fresh_run(snippet, again=again)
        if run is not None:
            self.done[snippet.name] = run
            self.plan.store.forget_failure(snippet.name)
        return run is not None

    def take_lock(self, job: Job) -> bool:
        """The right to run a job; False, and told once, while another process has it."""
        if job.take_lock():
            return True
        if not job.waited:
            self.on_event(events.Waiting(job.name))
        job.waited = True
        return False

    def take_others(self, job: Job) -> bool:
        """Another build ran it since we planned; take its run."""
        if self.force or not self.reuse(job.snippet, again=True):
            return False
        job.release()
        self.on_event(events.Reused(job.name))
        return True

    def finish(self, job: Job, run: Run, worker: str = "") -> None:
        """Keep the run of a job and let others run it; `worker` made it, where it is not here."""
        self.done[run.snippet] = run
        try:
            self.keep(run)
        except StoreError as error:
            self.troubles.append(error)
            self.on_event(events.StoreTrouble(run.snippet, message=str(error)))
        job.release()
        self.on_event(events.Finished(run.snippet, run=run, worker=worker))

    def results(self, order: Iterable[str]) -> dict[str, Run]:
        """Every run, in this order; StoreFailed where one could not be kept."""
        runs = {name: self.done[name] for name in order if name in self.done}
        if self.troubles:
            first = self.troubles[0]
            failed = StoreFailed(first.place, first.cause, first.next_step)
            failed.runs = runs
            raise failed
        return runs
