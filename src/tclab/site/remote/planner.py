"""Assign jobs to workers that meet their requirements: the longest job first, and a timed job alone
on its machine.

A cluster carries jobs and answers, and lists the workers (`workers.Cluster`). The planner decides
what a cluster has no data for: which workers share a machine, when to give up on requirements that
no worker meets, and how often to retry a job whose worker was lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from tclab.errors import StoreError
from tclab.model import Snippet
from tclab.site.engine import events, schedule
from tclab.site.engine.job import Job
from tclab.site.engine.work import Work
from tclab.site.remote import announcements, protocol
from tclab.site.remote.announcements import Requirements
from tclab.site.remote.protocol import Answer
from tclab.site.remote.tree import Tree
from tclab.site.remote.workers import Cluster, ClusterLost, Member, QueuedJob, WorkerState
from tclab.site.store import keys

_MEMBERS_INTERVAL = 0.5  # seconds between two requests for the list of workers
_IDLE_INTERVAL = 0.05  # seconds between two attempts to assign jobs while nothing runs
_UNMET_SECONDS = 3.0  # seconds that jobs wait for a worker that meets their requirements
_RETRIES = 2  # retries of a job whose worker was lost
_START_SECONDS = 420.0  # seconds added to a job's time limit, for starting and warming a process
_PAUSE = 30.0  # seconds without jobs for a worker that could not run one


@dataclass
class RemoteWork(Work):
    """Work on the workers of a cluster."""

    cluster: Cluster | None = None
    tree: Tree | None = None
    variables: dict[str, str] = field(default_factory=dict)
    requirements: Callable[[Snippet], Requirements] = lambda _: Requirements()
    torch: str = ""
    warm: bool = False
    workers: dict[str, WorkerState] = field(default_factory=dict)
    #: Key of requirements → jobs; the longest is the last.
    queues: dict[str, list[QueuedJob]] = field(default_factory=dict)
    requirements_by_key: dict[str, Requirements] = field(default_factory=dict)
    # jobs whose snippet another process is running
    locked_jobs: list[QueuedJob] = field(default_factory=list)
    #: Key of requirements → the time.monotonic() since which no worker meets them.
    unmet_since: dict[str, float] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)  # snippet → reason
    machines: dict[str, list[WorkerState]] = field(default_factory=dict)
    returned: list[tuple[WorkerState, asyncio.Task[Answer]]] = field(default_factory=list)
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, snippets: Iterable[Snippet], seconds: Callable[[Snippet], float]) -> None:
        """Run the snippets, the longest first. Put the snippets that no worker can run into
        `refused`.
        """
        for snippet in snippets:
            job = Job(snippet, self.plan, self.environment, solo=snippet.alone)
            self._queue(QueuedJob(job, self.requirements(snippet), seconds(snippet)))
        assert self.cluster is not None
        watch_task = None
        try:
            self._update_workers(await self.cluster.members())
            watch_task = asyncio.create_task(self._watch())
            slots = sum(worker.slots for worker in self.workers.values())
            total = sum(map(len, self.queues.values()))
            self.on_event(events.Planned(total=total, jobs=slots))
            self.warm = self._should_warm()
            while self._is_busy():
                if watch_task.done():
                    watch_task.result()  # result() raises the task's error
                await self._step()
        finally:
            if watch_task is not None:
                watch_task.cancel()
            await self._cancel_all()

    async def _watch(self) -> None:
        """Update the list of workers in a task of its own, since a scheduler may answer slowly."""
        assert self.cluster is not None
        while True:
            await asyncio.sleep(_MEMBERS_INTERVAL)
            self._update_workers(await self.cluster.members())
            self.answered.set()

    def _is_busy(self) -> bool:
        return self._has_running_jobs() or bool(self.locked_jobs) or any(self.queues.values())

    def _has_running_jobs(self) -> bool:
        return any(worker.running for worker in self.workers.values())

    def _queue(self, queued_job: QueuedJob) -> None:
        self.requirements_by_key[queued_job.requirements.key] = queued_job.requirements
        queue = self.queues.setdefault(queued_job.requirements.key, [])
        insort(queue, queued_job, key=lambda each: each.seconds)

    def _should_warm(self) -> bool:
        all_snippets = [
            queued_job.job.snippet for queue in self.queues.values() for queued_job in queue
        ]
        return schedule.should_warm(all_snippets, max(1, len(self.workers)))

    async def _step(self) -> None:
        self._assign_jobs()
        with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
            await asyncio.wait_for(
                self.answered.wait(),
                _MEMBERS_INTERVAL if self._has_running_jobs() else _IDLE_INTERVAL,
            )
        self.answered.clear()
        returned, self.returned = self.returned, []
        for worker, task in returned:
            if queued_job := worker.running.pop(task, None):
                self._handle_answer(worker, queued_job, task)

    async def _cancel_all(self) -> None:
        tasks = [task for worker in self.workers.values() for task in worker.running]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for worker in self.workers.values():
            for queued_job in worker.running.values():
                queued_job.job.release()

    # ------------------------------------------------------------------ workers

    def _update_workers(self, present: Iterable[Member]) -> None:
        """Note the workers that came, left or fell silent, and refuse the jobs that no worker can
        run.
        """
        assert self.cluster is not None
        members = {member.address: member for member in present}
        now = time.monotonic()
        for address in self.workers.keys() - members.keys():
            worker = self.workers.pop(address)
            self.machines[worker.machine].remove(worker)
            self._reassign_jobs(worker, "it left the cluster")
        for address, member in members.items():
            known = self.workers.get(address)
            if known is None:
                worker = self.workers[address] = WorkerState(member, heartbeat_at=now)
                self.machines.setdefault(worker.machine, []).append(worker)
                self._match(worker)
            elif known.member.last_heartbeat != member.last_heartbeat:
                known.heartbeat_at, known.member, known.silent = now, member, False
            elif now - known.heartbeat_at > self.cluster.silence_limit and not known.silent:
                known.silent = True
                silence = now - known.heartbeat_at
                self._reassign_jobs(known, f"it has said nothing for {silence:.0f} s")
        for queued_job in self.locked_jobs:
            self._queue(queued_job)
        self.locked_jobs = []
        self._refuse_unmet(now)

    def _match(self, worker: WorkerState) -> None:
        for key, requirements in self.requirements_by_key.items():
            worker.environment_by_key[key], _ = announcements.match_environment(
                worker.member.announcement, requirements
            )

    def _reassign_jobs(self, worker: WorkerState, reason: str) -> None:
        """Take back the jobs of a lost worker, so that other workers run them."""
        for task, queued_job in list(worker.running.items()):
            task.cancel()
            self._retry_or_fail(worker, queued_job, reason)
        worker.running.clear()

    def _refuse_unmet(self, moment: float) -> None:
        for key, queue in self.queues.items():
            if not queue or any(worker.can_run(key) for worker in self.workers.values()):
                self.unmet_since.pop(key, None)
            elif moment - self.unmet_since.setdefault(key, moment) >= _UNMET_SECONDS:
                why = self._explain_unmet(queue[0].requirements)
                for queued_job in queue:
                    self._refuse(queued_job, why)
                queue.clear()

    def _explain_unmet(self, requirements: Requirements) -> str:
        if not self.workers:
            return "there is no worker"
        reasons: dict[str, list[str]] = {}
        for worker in self.workers.values():
            why = (
                announcements.match_environment(worker.member.announcement, requirements)[1]
                or "it says nothing any more"
            )
            reasons.setdefault(why, []).append(worker.member.name)
        return "; ".join(f"{_join_names(names)}: {why}" for why, names in reasons.items())

    def _refuse(self, queued_job: QueuedJob, reason: str) -> None:
        queued_job.job.release()
        self.refused[queued_job.job.name] = reason
        self.on_event(events.Refused(queued_job.job.name, why=reason))

    # ------------------------------------------------------------------ assignment

    def _assign_jobs(self) -> None:
        """Give each worker one job in turn until no worker can take another one."""
        now = time.monotonic()
        ready = [
            each for each in self.workers.values() if each.paused_until < now and not each.silent
        ]
        while ready:
            ready = [worker for worker in ready if self._assign_one(worker)]

    def _assign_one(self, worker: WorkerState) -> bool:
        """Start the worker's next job; return False if it can take none."""
        if len(worker.running) >= worker.slots:
            return False
        on_machine = [
            queued_job
            for one in self.machines[worker.machine]
            for queued_job in one.running.values()
        ]
        if any(queued_job.job.solo for queued_job in on_machine):
            return False
        cuda = any("cuda" in queued_job.job.snippet.needs for queued_job in worker.running.values())
        queued_job = self._pop_longest(worker, alone=False, cuda=not cuda)
        if queued_job is None and not on_machine:
            queued_job = self._pop_longest(worker, alone=True, cuda=True)
        if queued_job is None:
            return False
        if not self.take_lock(queued_job.job):
            self.locked_jobs.append(queued_job)
        elif not self.take_others_run(queued_job.job):
            self._start(worker, queued_job)
        return True

    def _pop_longest(self, worker: WorkerState, *, alone: bool, cuda: bool) -> QueuedJob | None:
        """Remove the longest job that a worker can run from its queue and return it."""
        best: tuple[float, list[QueuedJob], int] | None = None
        for key, queue in self.queues.items():
            if (
                not queue
                or queue[0].requirements.alone != alone
                or worker.environment_by_key.get(key, -1) < 0
            ):
                continue
            if "cuda" in queue[0].requirements.needs and not cuda:
                continue
            position = next(
                (n for n in reversed(range(len(queue)))
                 if worker.member.address not in queue[n].refusals), None
            )  # fmt: skip
            if position is not None and (best is None or queue[position].seconds > best[0]):
                best = queue[position].seconds, queue, position
        return best[1].pop(best[2]) if best else None

    # ------------------------------------------------------------------ one job

    def _start(self, worker: WorkerState, queued_job: QueuedJob) -> None:
        self.on_event(events.Started(queued_job.job.name, worker=worker.member.name))
        task = asyncio.create_task(self._send(worker, queued_job))
        worker.running[task] = queued_job
        task.add_done_callback(lambda done: self._queue_answer(worker, done))

    def _queue_answer(self, worker: WorkerState, task: asyncio.Task[Answer]) -> None:
        self.returned.append((worker, task))
        self.answered.set()

    async def _send(self, worker: WorkerState, queued_job: QueuedJob) -> Answer:
        """Send a job to a worker and return the answer. Raises TimeoutError if no answer comes in
        time.
        """
        assert self.cluster is not None
        assert self.tree is not None
        address, snippet = worker.member.address, queued_job.job.snippet
        if worker.tree is None:
            worker.tree = asyncio.create_task(self.cluster.send_tree(address, self.tree))
        await asyncio.shield(worker.tree)
        data = protocol.encode_job(
            snippet,
            self.tree.names,
            tree=self.tree.digest,
            environment=self.environment,
            torch=queued_job.requirements.torch,
            on=worker.environment_by_key[queued_job.requirements.key],
            variables=self.variables,
            cache=protocol.cache_name(self.plan),
            warm=self.warm,
        )
        slots = worker.slots if snippet.alone else 1
        sent = self.cluster.send_job(
            address, protocol.to_json(data), slots, "cuda" in snippet.needs
        )
        return Answer.parse(await asyncio.wait_for(sent, snippet.timeout + _START_SECONDS))

    def _handle_answer(
        self, worker: WorkerState, queued_job: QueuedJob, task: asyncio.Task[Answer]
    ) -> None:
        try:
            answer = task.result()
        except ClusterLost:
            queued_job.job.release()
            raise
        except (asyncio.TimeoutError, TimeoutError):
            worker.silent = (
                True  # silent until the next heartbeat, which a hanging worker may still send
            )
            worker.paused_until = time.monotonic() + _START_SECONDS
            self._retry_or_fail(worker, queued_job, "it gave no answer in time")
            return
        except Exception as error:  # a worker may raise anything
            answer = Answer("trouble", f"{type(error).__name__}: {error}".splitlines()[0])
            worker.tree = None
        if answer.kind == "run":
            self._keep_run(worker, queued_job, answer)
        elif answer.kind == "refused":
            self._try_other_worker(worker, queued_job, answer.why)
        else:
            worker.paused_until = time.monotonic() + _PAUSE
            queued_job.refusals[worker.member.address] = answer.why or answer.kind
            self._retry_or_fail(worker, queued_job, answer.why or answer.kind)

    def _keep_run(self, worker: WorkerState, queued_job: QueuedJob, answer: Answer) -> None:
        try:
            run = protocol.unpack_run(answer.run, queued_job.job.name, self.environment)
        except StoreError as error:
            self._retry_or_fail(worker, queued_job, f"its run is damaged: {error.cause}")
            return
        self.finish(queued_job.job, run, worker=worker.member.name)

    def _try_other_worker(self, worker: WorkerState, queued_job: QueuedJob, reason: str) -> None:
        """Queue a refused job for another worker; refuse it if there is none."""
        queued_job.refusals[worker.member.address] = reason
        queued_job.job.release()
        if self._can_run_elsewhere(queued_job):
            self._queue(queued_job)
        else:
            self._refuse(queued_job, f"{worker.member.name}: {reason}")

    def _can_run_elsewhere(self, queued_job: QueuedJob) -> bool:
        """Return whether a worker that has not refused the job can run it."""
        key = queued_job.requirements.key
        members = (a for a, worker in self.workers.items() if worker.can_run(key))
        return any(address not in queued_job.refusals for address in members)

    def _retry_or_fail(self, worker: WorkerState, queued_job: QueuedJob, reason: str) -> None:
        """Retry a job whose worker was lost or could not run it; fail it after two retries."""
        queued_job.job.release()
        queued_job.failures += 1
        where = f"{worker.member.name}: {reason}"
        hopeless = queued_job.refusals and not self._can_run_elsewhere(queued_job)
        if queued_job.failures <= _RETRIES and not hopeless:
            self.on_event(
                events.Rescheduled(queued_job.job.name, worker=worker.member.name, why=reason)
            )
            self._queue(queued_job)
            return
        times = f"{queued_job.failures} workers" if queued_job.failures > 1 else "a worker"
        source_key = keys.source_key(queued_job.job.snippet)
        lost_run = replace(queued_job.job.run_of_dead_supervisor(""), source_key=source_key)
        message = f"{times} could not run it; last {where}"
        step = f"see to {worker.member.name}, then: tclab run {queued_job.job.name}"
        run = protocol.add_failure(lost_run, "worker", message, step)
        self.finish(queued_job.job, run, worker=worker.member.name)


def _join_names(names: list[str]) -> str:
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")
