"""Measure a suite of cases, batch by batch, on this machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tclab.system import machine
from tclab.workshop.bench import report
from tclab.workshop.bench.batch import Clock, Rounds, Step, measure_batch
from tclab.workshop.bench.pool import Worker, WorkerPool
from tclab.workshop.bench.rows import Book, Row


@dataclass(frozen=True)
class BenchOptions:
    """The options of measuring a suite.

    `jobs` is the number of compiles that run at a time; 0 means the number of cores minus one.
    `wave` is the number of processes that are kept warm. `limit` is the seconds that a compile may
    take.
    """

    device: str
    jobs: int
    wave: int
    limit: float


def measure_environment(device: str) -> dict[str, Any]:
    """Return the environment of rows that are measured on this machine. Two cards of the same kind
    have the same environment.
    """
    here = machine.here()
    environment = asdict(here.without_gpu() if device == "cpu" else here)
    environment["variables"].pop("CUDA_VISIBLE_DEVICES", None)
    return environment


def run_suite(todo: list[Step], options: BenchOptions, book: Book, clock: Clock) -> None:
    """Measure these steps; add each case's rows to the book as soon as they are measured."""
    jobs = options.jobs or (max(1, machine.count_cores() - 1) if options.device == "cuda" else 1)
    packages = sorted({need for case, _ in todo for need in case.needs})
    pool = WorkerPool(options.device, jobs, ["torch", *packages], options.limit)
    try:
        pool.choose_start_method()
        Session(pool, book, clock, len(todo)).run(todo, options.wave)
    finally:
        pool.close()


class Session:
    """Measures a suite batch by batch until it is done or the budget ends."""

    def __init__(self, pool: WorkerPool, book: Book, clock: Clock, total: int) -> None:
        self.pool, self.book, self.clock = pool, book, clock
        self.done, self.total = 0, total
        self.rounds = Rounds()

    def run(self, todo: list[Step], processes: int) -> None:
        """Measure all steps in batches of `processes`; then measure alone each step that ran out of
        memory.
        """
        retry: list[Step] = []
        for steps in split_into_batches(todo, processes if self.pool.jobs > 1 else 1):
            if not self._has_time_left():
                return
            retry += self._measure_batch(steps)
        for step in retry:
            if not self._has_time_left():
                return
            self._measure_batch([step])

    def _has_time_left(self) -> bool:
        """Return whether the time suffices for another batch; print a note if it does not."""
        needed = 20.0 if not self.clock.preparing else 0.5 * min(self.clock.preparing) + 5
        if self.clock.seconds_left > needed:
            return True
        report.say(f"stopped: {self.total - self.done} of {self.total} cases are left")
        report.say("  next: the same command goes on where it stopped")
        return False

    def _measure_batch(self, steps: list[Step]) -> list[Step]:
        workers = sum(len(modes) for _, modes in steps)
        start = time.monotonic()
        prepared = start

        def report_worker(worker: Worker) -> None:
            nonlocal prepared
            prepared = time.monotonic()
            if not worker.is_ready:
                reason = worker.reason.partition("\n")[0][:150]
                report.say(f"  {worker.case.name} {worker.mode}: {worker.status}: {reason}")

        prepare_until = self.clock.preparation_deadline(workers)
        time_until = self.clock.end - 4.0
        retry = measure_batch(
            self.pool, steps, self.rounds, prepare_until, time_until, report_worker, self._keep_rows
        )
        self.clock.preparing.append(prepared - start)
        self.clock.timing.append((time.monotonic() - prepared) / max(1, workers))
        report.say(
            f"  prepared in {prepared - start:.0f} s, all in {time.monotonic() - start:.0f} s"
        )
        return retry

    def _keep_rows(self, rows: list[Row]) -> None:
        """Add the rows of a case to the book, and print them."""
        self.book.merge(rows)
        self.done += 1
        rest = self.clock.estimate_rest(self.done, self.total)
        report.say(report.format_case(rows, self.done, self.total, rest))


def split_into_batches(steps: Sequence[Step], size: int) -> list[list[Step]]:
    """Group steps into batches of about `size` processes; a case stays in one batch."""
    groups: list[list[Step]] = [[]]
    count = 0
    for case, modes in steps:
        if count and count + len(modes) > size:
            groups.append([])
            count = 0
        groups[-1].append((case, modes))
        count += len(modes)
    return groups
