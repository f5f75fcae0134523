"""A suite of cases, batch by batch, on the machine that this runs on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tclab import machine
from tclab.bench import report
from tclab.bench.batch import Clock, Rounds, Step, measure
from tclab.bench.pool import Worker, WorkerPool
from tclab.bench.rows import Book, Row


@dataclass(frozen=True)
class Manner:
    """How a suite is measured: on which device, so many compiles at a time (0: all cores but one),
    so many processes kept warm, so many seconds for a compile.
    """

    device: str
    jobs: int
    wave: int
    limit: float


def environment_on(device: str) -> dict[str, Any]:
    """What rows that are measured here belong to: of two equal cards it does not matter which."""
    here = machine.here()
    environment = asdict(here.without_gpu() if device == "cpu" else here)
    environment["variables"].pop("CUDA_VISIBLE_DEVICES", None)
    return environment


def run(todo: list[Step], manner: Manner, book: Book, clock: Clock) -> None:
    """Measure these steps; each case's rows are in the book as soon as they are there."""
    jobs = manner.jobs or (max(1, machine.cores() - 1) if manner.device == "cuda" else 1)
    packages = sorted({need for case, _ in todo for need in case.needs})
    pool = WorkerPool(manner.device, jobs, ["torch", *packages], manner.limit)
    try:
        pool.choose_start()
        Session(pool, book, clock, len(todo)).run(todo, manner.wave)
    finally:
        pool.close()


class Session:
    """A suite, batch by batch, until it is done or the budget ends."""

    def __init__(self, pool: WorkerPool, book: Book, clock: Clock, total: int) -> None:
        self.pool, self.book, self.clock = pool, book, clock
        self.done, self.total = 0, total
        self.rounds = Rounds()

    def run(self, todo: list[Step], processes: int) -> None:
        """Every step, in batches of so many processes; then what ran out of memory, alone."""
        again: list[Step] = []
        for steps in batches(todo, processes if self.pool.jobs > 1 else 1):
            if not self._time_for_more():
                return
            again += self._batch(steps)
        for step in again:
            if not self._time_for_more():
                return
            self._batch([step])

    def _time_for_more(self) -> bool:
        """Whether another batch can be prepared and timed; says so where not."""
        least = 20.0 if not self.clock.preparing else 0.5 * min(self.clock.preparing) + 5
        if self.clock.left > least:
            return True
        report.say(f"stopped: {self.total - self.done} of {self.total} cases are left")
        report.say("  next: the same command goes on where it stopped")
        return False

    def _batch(self, steps: list[Step]) -> list[Step]:
        workers = sum(len(modes) for _, modes in steps)
        start = time.monotonic()
        prepared = start

        def report_worker(worker: Worker) -> None:
            nonlocal prepared
            prepared = time.monotonic()
            if not worker.ready:
                reason = worker.reason.partition("\n")[0][:150]
                report.say(f"  {worker.case.name} {worker.mode}: {worker.status}: {reason}")

        until = self.clock.until(workers)
        end = self.clock.end - 4.0
        again = measure(self.pool, steps, self.rounds, until, end, report_worker, self._keep)
        self.clock.preparing.append(prepared - start)
        self.clock.timing.append((time.monotonic() - prepared) / max(1, workers))
        report.say(
            f"  prepared in {prepared - start:.0f} s, all in {time.monotonic() - start:.0f} s"
        )
        return again

    def _keep(self, rows: list[Row]) -> None:
        """Add what is new; a case that eager is not done of is not done."""
        self.book.take(rows)
        self.done += 1
        rest = self.clock.rest(self.done, self.total)
        report.say(report.case(rows, self.done, self.total, rest))


def batches(steps: Sequence[Step], size: int) -> list[list[Step]]:
    """Groups of steps with about `size` processes, no case divided."""
    groups: list[list[Step]] = [[]]
    count = 0
    for case, modes in steps:
        if count and count + len(modes) > size:
            groups.append([])
            count = 0
        groups[-1].append((case, modes))
        count += len(modes)
    return groups
