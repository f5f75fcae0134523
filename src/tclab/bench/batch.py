"""A batch of cases: prepared side by side, then timed one after the other on the idle machine."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tclab.bench.case import EAGER, Case
from tclab.bench.pool import Worker, WorkerPool
from tclab.bench.pool import end as end_all
from tclab.bench.rows import OK, UNSTABLE, Row
from tclab.bench.statistics import quotient, spread

#: A step of a suite: a case and the modes that are measured together.
Step = tuple[Case, tuple[str, ...]]


@dataclass(frozen=True)
class Rounds:
    """How often and how long: `least` rounds, up to `most` while a spread is too large; each is
    a stretch of about `seconds` a mode.
    """

    least: int = 7
    most: int = 10
    seconds: float = 0.04
    limit: float = 60.0

    def calls(self, worker: Worker) -> int:
        """Calls of one stretch."""
        return max(2, min(2000, round(self.seconds * 1e6 / max(worker.facts["call_us"], 1.0))))


def measure(
    pool: WorkerPool,
    steps: Sequence[Step],
    rounds: Rounds,
    until: float,
    end: float,
    report: Callable[[Worker], None],
    keep: Callable[[list[Row]], None],
) -> list[Step]:
    """Rows of a batch's steps, handed to `keep` case by case. `until` is when preparing ends, `end`
    when timing does (time.monotonic()); what is not timed by then has no row.

    Returned are the steps that ran out of memory while others held some: to be tried alone.
    """
    tasks = [(i, case, mode) for i, (case, modes) in enumerate(steps) for mode in modes]
    workers = pool.prepare(tasks, until, report)
    again: list[Step] = []
    try:
        for i, (case, modes) in enumerate(steps):
            own = [worker for worker in workers if worker.step == i]
            if time.monotonic() > end:
                break
            crowded = {w.mode for w in own if w.status == "memory"} if len(steps) > 1 else set()
            if crowded:
                again.append((case, modes))
            keep(_rows([w for w in own if w.mode not in crowded], rounds, end))
            for worker in own:
                worker.free_memory()
    finally:
        end_all(workers)
    return again


def _rows(workers: Sequence[Worker], rounds: Rounds, end: float) -> list[Row]:
    """One row a worker: its times, or why there are none."""
    times = take_turns([w for w in workers if w.ready], rounds, end)
    eager = times.get(EAGER, [])
    return [_row(w, times.get(w.mode, []), eager) for w in workers]


def _row(worker: Worker, own: Sequence[float], eager: Sequence[float]) -> Row:
    case = worker.case
    if not worker.ready:
        status = "skipped" if worker.status == "memory" else worker.status
        reason = worker.reason
        return Row(case.name, worker.mode, case.phase, status, reason=reason, facts=worker.facts)
    return Row(
        case.name,
        worker.mode,
        case.phase,
        OK,
        us=statistics.median(own),
        spread=spread(own),
        eager_us=statistics.median(eager) if eager else None,
        speed_up=quotient(eager, own) if eager else None,
        rounds=tuple(round(us, 3) for us in own),
        facts=worker.facts,
    )


def take_turns(
    workers: Sequence[Worker], rounds: Rounds, end: float = math.inf
) -> dict[str, list[float]]:
    """Times of one call in µs by mode, round by round; each round begins with another mode.

    After `end` (time.monotonic()) three rounds have to do.
    """
    times: dict[str, list[float]] = {worker.mode: [] for worker in workers}
    for worker in workers:  # the first times were taken beside others
        worker.facts["call_us"] = worker.time(3, rounds.limit) or worker.facts["call_us"]
    for number in range(rounds.most):
        alive = [worker for worker in workers if worker.ready]
        least = 3 if time.monotonic() > end else rounds.least
        if not alive or (number >= least and (least == 3 or _settled(times, alive))):
            break
        turn = number % len(alive)
        for worker in alive[turn:] + alive[:turn]:
            us = worker.time(rounds.calls(worker), rounds.limit)
            if us is not None:
                times[worker.mode].append(us)
    return times


def _settled(times: dict[str, list[float]], workers: Sequence[Worker]) -> bool:
    return all(spread(times[worker.mode]) <= UNSTABLE for worker in workers)


class Clock:
    """How much is left of a budget in seconds since `start` (time.monotonic()), and what a batch
    has cost so far.
    """

    def __init__(self, budget: float, start: float) -> None:
        self.start, self.budget = start, budget
        self.preparing: list[float] = []
        self.timing: list[float] = []

    @property
    def end(self) -> float:
        """When it is over (time.monotonic())."""
        return self.start + self.budget

    @property
    def left(self) -> float:
        """Seconds left; it may be below nought."""
        return self.end - time.monotonic()

    def rest(self, done: int, total: int) -> float:
        """Seconds that a suite goes on: at the pace so far, and no longer than the budget."""
        pace = (time.monotonic() - self.start) / max(1, done)
        return max(0.0, min(pace * (total - done), self.left))

    def until(self, workers: int) -> float:
        """The moment preparing has to end, so that so many workers can still be timed."""
        each = max(self.timing, default=0.8)
        return self.end - each * workers - 3.0
