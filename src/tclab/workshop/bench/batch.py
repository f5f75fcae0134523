"""Measure a batch of cases: prepare them side by side, then time them one after the other."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tclab.model import EAGER
from tclab.workshop.bench.case import Case
from tclab.workshop.bench.pool import Worker, WorkerPool, end_workers
from tclab.workshop.bench.rows import OK, UNSTABLE, Row
from tclab.workshop.bench.statistics import median_ratio, spread

#: A step of a suite: a case, and the modes that are measured together.
Step = tuple[Case, tuple[str, ...]]


@dataclass(frozen=True)
class Rounds:
    """The number of rounds: at least `minimum`, and at most `maximum` while a spread is too large.

    In a round each mode is called for about `seconds`, and must not take longer than `limit`
    (seconds).
    """

    minimum: int = 7
    maximum: int = 10
    seconds: float = 0.04
    limit: float = 60.0

    def count_calls(self, worker: Worker) -> int:
        """Return the number of calls that a worker makes in one round."""
        return max(2, min(2000, round(self.seconds * 1e6 / max(worker.facts["call_us"], 1.0))))


def measure_batch(
    pool: WorkerPool,
    steps: Sequence[Step],
    rounds: Rounds,
    prepare_until: float,
    time_until: float,
    report: Callable[[Worker], None],
    keep: Callable[[list[Row]], None],
) -> list[Step]:
    """Measure a batch's steps, and pass the rows to `keep` case by case.

    Preparing ends at `prepare_until`, timing at `time_until` (time.monotonic()); a case that is not
    timed by then gets no row. Return the steps that ran out of memory while other processes held
    some, so that the caller can retry each alone.
    """
    tasks = [(i, case, mode) for i, (case, modes) in enumerate(steps) for mode in modes]
    workers = pool.prepare(tasks, prepare_until, report)
    retry: list[Step] = []
    try:
        for i, (case, modes) in enumerate(steps):
            own = [worker for worker in workers if worker.step == i]
            if time.monotonic() > time_until:
                break
            out_of_memory = (
                {w.mode for w in own if w.status == "memory"} if len(steps) > 1 else set()
            )
            if out_of_memory:
                retry.append((case, modes))
            keep(_make_rows([w for w in own if w.mode not in out_of_memory], rounds, time_until))
            for worker in own:
                worker.free_memory()
    finally:
        end_workers(workers)
    return retry


def _make_rows(workers: Sequence[Worker], rounds: Rounds, end: float) -> list[Row]:
    """Return a row for each worker, with its times or the reason why it has none."""
    times = take_turns([w for w in workers if w.is_ready], rounds, end)
    eager = times.get(EAGER, [])
    return [_make_row(w, times.get(w.mode, []), eager) for w in workers]


def _make_row(worker: Worker, times: Sequence[float], eager: Sequence[float]) -> Row:
    case = worker.case
    if not worker.is_ready:
        status = "skipped" if worker.status == "memory" else worker.status
        reason = worker.reason
        return Row(case.name, worker.mode, case.phase, status, reason=reason, facts=worker.facts)
    return Row(
        case.name,
        worker.mode,
        case.phase,
        OK,
        us=statistics.median(times),
        spread=spread(times),
        eager_us=statistics.median(eager) if eager else None,
        speed_up=median_ratio(eager, times) if eager else None,
        rounds=tuple(round(us, 3) for us in times),
        facts=worker.facts,
    )


def take_turns(
    workers: Sequence[Worker], rounds: Rounds, end: float = math.inf
) -> dict[str, list[float]]:
    """Return the time of one call in µs for each mode and round. Each round begins with another
    mode.

    After `end` (time.monotonic()) three rounds are enough.
    """
    times: dict[str, list[float]] = {worker.mode: [] for worker in workers}
    # measure again, because the first times were taken while other workers ran
    for worker in workers:
        worker.facts["call_us"] = worker.time_calls(3, rounds.limit) or worker.facts["call_us"]
    for number in range(rounds.maximum):
        alive = [worker for worker in workers if worker.is_ready]
        needed = 3 if time.monotonic() > end else rounds.minimum
        if not alive or (number >= needed and (needed == 3 or _are_stable(times, alive))):
            break
        first = number % len(alive)
        for worker in alive[first:] + alive[:first]:
            us = worker.time_calls(rounds.count_calls(worker), rounds.limit)
            if us is not None:
                times[worker.mode].append(us)
    return times


def _are_stable(times_by_mode: dict[str, list[float]], workers: Sequence[Worker]) -> bool:
    return all(spread(times_by_mode[worker.mode]) <= UNSTABLE for worker in workers)


class Clock:
    """A budget in seconds that began at `start` (time.monotonic()).

    `preparing` has the seconds that the preparation of each batch took. `timing` is the seconds in
    which one worker is timed.
    """

    def __init__(self, budget: float, start: float) -> None:
        self.start, self.budget = start, budget
        self.preparing: list[float] = []
        self.timing: list[float] = []

    @property
    def end(self) -> float:
        """The time.monotonic() at which the budget ends."""
        return self.start + self.budget

    @property
    def seconds_left(self) -> float:
        """Seconds left of the budget; negative after its end."""
        return self.end - time.monotonic()

    def estimate_rest(self, done_count: int, total: int) -> float:
        """Return the seconds that the suite still needs at its pace so far, but at most the rest of
        the budget.
        """
        pace = (time.monotonic() - self.start) / max(1, done_count)
        return max(0.0, min(pace * (total - done_count), self.seconds_left))

    def preparation_deadline(self, workers: int) -> float:
        """Return the time.monotonic() by which preparing must end to leave time for the workers."""
        each = max(self.timing, default=0.8)
        return self.end - each * workers - 3.0
