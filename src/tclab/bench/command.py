"""``tclab bench``: measure a suite, keep its rows, go on where it stopped.

Needs torch and the standard library; timm and transformers for their models. Exit status: 0 done,
or stopped at the end of the budget; 1 something is missing; 2 the command line is wrong; 130
interrupted. Nothing is lost by stopping: every row is on the disk as soon as it is measured.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tclab import clone, machine
from tclab.bench import report, suites
from tclab.bench.batch import Clock, Rounds, Step, measure
from tclab.bench.busy import busy
from tclab.bench.pool import Worker, WorkerPool
from tclab.bench.rows import Book, Row, read
from tclab.errors import BadRequest, TclabError

EPILOG = """
examples:
  python -m tclab bench --suite cpu --budget 600           this machine's processor, 10 minutes
  python -m tclab bench --suite kernels --budget 500       stop before 500 s, with all rows kept
  python -m tclab bench --suite models --only resnet       the cases with that in their name
  python -m tclab bench --suite cpu --compare theirs.jsonl the two machines side by side

A suite that was stopped goes on with the same command. Another PyTorch or another card gets a
file of its own in the same folder.
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(
        prog="tclab bench",
        description=(__doc__ or "").partition("\n")[0],
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = ", ".join(suites.NAMES)
    out.add_argument("--suite", action="append", default=[], help=f"{names}; may be repeated")
    out.add_argument("--out", type=Path, default=Path("bench"), metavar="DIR", help="for the rows")
    out.add_argument("--only", action="append", default=[], metavar="TEXT", help="in a case's name")
    out.add_argument("--mode", action="append", default=[], metavar="MODE", help="beside eager")
    out.add_argument("--budget", type=float, default=1e9, metavar="SECONDS", help="stop before")
    out.add_argument("--jobs", type=int, metavar="N", help="compiles at a time; default: cores − 1")
    out.add_argument("--wave", type=int, default=36, metavar="N", help="processes kept warm")
    out.add_argument("--limit", type=float, default=240, metavar="SECONDS", help="of a compile")
    out.add_argument("--device", choices=("cuda", "cpu"), help="default: a GPU if there is one")
    out.add_argument("--scale", choices=suites.SCALES, help="how large: default by the device")
    out.add_argument("--compare", type=Path, metavar="FILE", help="another machine's rows")
    out.add_argument("--again", action="store_true", help="also what was not measured before")
    out.add_argument("--list", action="store_true", help="say what would be measured")
    return out


def main(arguments: Sequence[str]) -> int:
    """Run the command; the exit status."""
    start = time.monotonic()
    try:
        options = parser().parse_args(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 2
    try:
        machine.need_processes("tclab bench")
        return _run(options, Clock(options.budget, start))
    except BadRequest as problem:
        report.warn(str(problem))
        return 2
    except TclabError as problem:
        report.warn(str(problem))
        return 1
    except KeyboardInterrupt:
        report.warn("interrupted\n  next: the same command goes on where it stopped")
        return 130


def _run(options: argparse.Namespace, clock: Clock) -> int:
    machine.check_torch()
    environment = asdict(machine.here())
    device = _device(options, environment)
    steps = _steps(options, device)
    if options.list:
        for case, modes in suites.missing(steps, ()):
            report.say(f"{case.name}: {', '.join(modes)}")
        return 0
    if device == "cpu":
        environment["gpu"] = environment["driver"] = ""
    clone.need("catalog", "tclab bench")
    theirs = read(options.compare) if options.compare else None
    book = Book.open(options.out, environment)
    _measure(options, device, steps, book, clock)
    for line in report.summary(book):
        report.say(line)
    report.say(str(book.path))
    if theirs:
        for line in report.comparison(book, theirs):
            report.say(line)
    return 0


def _device(options: argparse.Namespace, environment: dict[str, Any]) -> str:
    """Where to measure: on the GPU unless the suite is the CPU's, or there is none."""
    only_cpu = bool(options.suite) and set(options.suite) == {"cpu"}
    has_gpu = machine.has_cuda()
    device = options.device or ("cpu" if only_cpu or not has_gpu else "cuda")
    if device == "cuda" and not has_gpu:
        step = "--device cpu, or --suite cpu"
        raise TclabError("tclab bench --device cuda", "there is no NVIDIA GPU here", step)
    return str(device)


def _steps(options: argparse.Namespace, device: str) -> list[Step]:
    scale = options.scale or ("gpu" if device == "cuda" else "cpu")
    names = options.suite or ["cpu" if device == "cpu" else "kernels"]
    steps = [step for name in names for step in suites.steps(name, scale)]
    steps = suites.chosen(suites.tuned_last(suites.in_modes(steps, options.mode)), options.only)
    if not steps:
        raise BadRequest("--only, --mode", "no case has that name and such a mode", "see --list")
    return steps


def _measure(
    options: argparse.Namespace, device: str, steps: list[Step], book: Book, clock: Clock
) -> None:
    done = {key for key, row in book.rows.items() if row.ok or not options.again}
    todo = suites.missing(steps, done)
    if not todo:
        report.say("every row is there already")
        return
    if trouble := busy(device):
        report.warn(f"{trouble}; rows will show it as a spread")
    jobs = options.jobs or (max(1, (os.cpu_count() or 2) - 1) if device == "cuda" else 1)
    packages = sorted({need for case, _ in todo for need in case.needs})
    pool = WorkerPool(device, jobs, ["torch", *packages], options.limit)
    try:
        pool.choose_start()
        Session(pool, book, clock, len(todo)).run(todo, options.wave)
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
        for row in rows:
            before = self.book.rows.get(row.key)
            if before is None or (not before.ok and row.ok):
                self.book.add(row)
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
