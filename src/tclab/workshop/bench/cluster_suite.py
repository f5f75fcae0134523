"""Measure a suite on the workers of a cluster. A job measures several cases, and a GPU runs one job
at a time.

A job is a Python file that calls `run_part` on the worker. The worker sends the text of its file of
rows, and the rows are added to the file of their environment on this machine. Workers with the same
card share a file.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tclab import display
from tclab.errors import TclabError
from tclab.model import Run, Snippet, Text, decode_fields
from tclab.site.engine.plan import Plan
from tclab.site.remote import announcements, client
from tclab.system.project import project_root
from tclab.workshop.bench import report, session
from tclab.workshop.bench.batch import Clock, Step
from tclab.workshop.bench.case import Case
from tclab.workshop.bench.rows import Book, file_key, read
from tclab.workshop.bench.session import BenchOptions

_SOURCE = """\
from tclab.workshop.bench import cluster_suite

cluster_suite.run_part({request!r})
"""
_MEMORY = 2048  # MiB for each process of a batch
_LONGEST = 3600.0  # seconds that a job may take without a budget


@dataclass(frozen=True)
class ClusterRequest:
    """The cluster to measure on, and the requirements on its workers.

    The workers must have a PyTorch whose version begins with `torch` and a GPU whose name contains
    `gpu`. If two kinds of workers fit, each measures only a part of the cases.
    """

    address: client.ClusterAddress
    torch: str = ""
    gpu: str = ""

    def read_books(self, out: Path, device: str) -> list[Book]:
        """Read the files in `out` whose environment has the required device, PyTorch and GPU."""
        all_books = (read(path) for path in sorted(out.glob("*-suite*.jsonl")))
        return [book for book in all_books if self._is_suitable(book.environment, device)]

    def _is_suitable(self, environment: Mapping[str, Any], device: str) -> bool:
        gpu = environment["gpu"]
        if bool(gpu) != (device == "cuda") or self.gpu.lower() not in gpu.lower():
            return False
        return not self.torch or announcements.version_matches(environment["torch"], self.torch)


def measure(
    todo: list[Step], options: BenchOptions, out: Path, request: ClusterRequest, clock: Clock
) -> tuple[int, list[Book]]:
    """Measure these steps on a cluster, with `options.wave` processes in each job.

    Return the exit status, and the files in `out` that got rows. Warn of jobs that no worker ran.
    """
    plan, books, done = Plan(project_root()), dict[str, Book](), 0
    seconds = min(clock.seconds_left, _LONGEST)

    def keep_rows(run: Run) -> None:
        nonlocal done
        theirs = _read_rows(run)
        name = file_key(theirs.environment)
        books[name] = books.get(name) or Book.open(out, theirs.environment)
        books[name].merge(theirs)
        for case in dict.fromkeys(row.case for row in theirs):
            done += 1
            rest = clock.estimate_rest(done, len(todo))
            report.say(
                report.format_case(list(theirs.rows_of_case(case).values()), done, len(todo), rest)
            )

    jobs = list(_write_jobs(plan, todo, options, seconds))
    words = {"torch": request.torch, "gpu": request.gpu}
    run_request = client.RunRequest(jobs, "bench", force=True, keep=keep_rows, **words)
    try:
        (outcome,) = client.run_all([run_request], plan, request.address)
    finally:
        for job in jobs:
            job.path.unlink(missing_ok=True)
    reasons = {name: f"ran nowhere: {why}" for name, why in outcome.refused.items()}
    reasons |= {n: run.failure.message for n, run in outcome.runs.items() if run.failure}
    for job in (job for job in jobs if job.name in reasons):
        step = "start a worker that has it (tclab worker ADDRESS), or take a smaller --wave"
        report.warn(str(TclabError(job.place, reasons[job.name], step)))
    return int(bool(reasons)), list(books.values())


def _write_jobs(
    plan: Plan, todo: list[Step], options: BenchOptions, seconds: float
) -> Iterator[Snippet]:
    """Write a job for each batch of steps and yield it as a snippet.

    A job on a CPU must run alone on its machine. A job on a GPU is the only one of its worker.
    """
    folder = plan.store.path / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    cuda = options.device == "cuda"
    for steps in session.split_into_batches(todo, options.wave):
        plain = [(asdict(case), modes) for case, modes in steps]
        data = {"steps": plain, "options": asdict(options), "seconds": seconds - 10}
        source = _SOURCE.format(request=json.dumps(data))
        path = folder / f"{hashlib.sha256(source.encode()).hexdigest()[:12]}.py"
        path.write_text(source, "utf-8")
        yield Snippet(
            f"bench/{path.stem}", path, "", "", source,
            needs=frozenset({"cuda"} if cuda else ()),
            timeout=seconds,
            memory=_MEMORY * (options.wave if cuda else 4),
            alone=not cuda,
            place=f"tclab bench: {steps[0][0].name}",
        )  # fmt: skip


def run_part(request: str) -> None:
    """Measure the steps of `request`, a JSON text, on a worker, and show the file of rows."""
    # without this, each process of the suite would run this job first
    del sys.modules["__main__"].__file__
    data = json.loads(request)
    steps = [(decode_fields(Case, case), tuple(modes)) for case, modes in data["steps"]]
    options = decode_fields(BenchOptions, data["options"])
    with tempfile.TemporaryDirectory(prefix="tclab-bench-") as folder:
        book = Book.open(Path(folder), session.measure_environment(options.device))
        session.run_suite(steps, options, book, Clock(data["seconds"], time.monotonic()))
        display.show(Text("Rows", "rows", book.path.read_text("utf-8")))


def _read_rows(run: Run) -> Book:
    """Return the rows that a job measured."""
    (shown,) = (each for each in run.artifacts if isinstance(each, Text))
    with tempfile.TemporaryDirectory(prefix="tclab-bench-") as folder:
        path = Path(folder, "rows.jsonl")
        path.write_text(shown.text, "utf-8")
        return read(path)
