"""A suite on the workers of a cluster: some cases a job, and on a GPU one job at a time.

A job is a file that calls `part` over there. Its rows come back as the file that they were kept in,
and are added to the one of their environment here: two workers with the same card share it.
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
from tclab.bench import report, session
from tclab.bench.batch import Clock, Step
from tclab.bench.case import Case
from tclab.bench.rows import Book, key_of, read
from tclab.bench.session import Manner
from tclab.engine.doors import far, offers
from tclab.engine.plan import Plan
from tclab.errors import TclabError
from tclab.model import Run, Snippet, Text, decode_fields
from tclab.project import project_root

_SOURCE = """\
from tclab.bench import away

away.part({given!r})
"""
_MEMORY = 2048  # MiB of a process of a wave
_LONGEST = 3600.0  # seconds of a job where there is no budget


@dataclass(frozen=True)
class Wanted:
    """The cluster, and what its workers are to have: a PyTorch whose version begins with `torch`, a
    GPU whose name has `gpu`. Workers of two kinds would share out the cases.
    """

    door: far.Door
    torch: str = ""
    gpu: str = ""

    def books(self, out: Path, device: str) -> list[Book]:
        """The files in `out` that such a worker's rows may be in."""
        every = (read(path) for path in sorted(out.glob("*-suite*.jsonl")))
        return [book for book in every if self._fits(book.environment, device)]

    def _fits(self, made: Mapping[str, Any], device: str) -> bool:
        if bool(made["gpu"]) != (device == "cuda") or self.gpu.lower() not in made["gpu"].lower():
            return False
        return not self.torch or offers.begins(made["torch"], self.torch)


def measure(
    todo: list[Step], manner: Manner, out: Path, wanted: Wanted, clock: Clock
) -> tuple[int, list[Book]]:
    """Measure these steps on a cluster, so many processes a job as a wave has, the rows into files
    in `out`; the exit status, and the files that got some. What no worker can run is told.
    """
    plan, books, done = Plan(project_root()), dict[str, Book](), 0
    seconds = min(clock.left, _LONGEST)

    def keep(run: Run) -> None:
        nonlocal done
        theirs = _rows(run)
        name = key_of(theirs.environment)
        books[name] = books.get(name) or Book.open(out, theirs.environment)
        books[name].take(theirs)
        for case in dict.fromkeys(row.case for row in theirs):
            done += 1
            rest = clock.rest(done, len(todo))
            report.say(report.case(list(theirs.of(case).values()), done, len(todo), rest))

    jobs = list(_jobs(plan, todo, manner, seconds))
    words = {"torch": wanted.torch, "gpu": wanted.gpu}
    errand = far.Errand(jobs, "bench", force=True, keep=keep, **words)
    try:
        (outcome,) = far.run_all([errand], plan, wanted.door)
    finally:
        for job in jobs:
            job.path.unlink(missing_ok=True)
    whys = {name: f"ran nowhere: {why}" for name, why in outcome.refused.items()}
    whys |= {n: run.failure.message for n, run in outcome.runs.items() if run.failure}
    for job in (job for job in jobs if job.name in whys):
        step = "start a worker that has it (tclab worker ADDRESS), or take a smaller --wave"
        report.warn(str(TclabError(job.place, whys[job.name], step)))
    return int(bool(whys)), list(books.values())


def _jobs(plan: Plan, todo: list[Step], manner: Manner, seconds: float) -> Iterator[Snippet]:
    """A snippet for each group of steps. On a CPU nothing else may run beside one; on a GPU a
    worker has one at a time.
    """
    folder = plan.store.path / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    cuda = manner.device == "cuda"
    for steps in session.batches(todo, manner.wave):
        plain = [(asdict(case), modes) for case, modes in steps]
        data = {"steps": plain, "manner": asdict(manner), "seconds": seconds - 10}
        source = _SOURCE.format(given=json.dumps(data))
        path = folder / f"{hashlib.sha256(source.encode()).hexdigest()[:12]}.py"
        path.write_text(source, "utf-8")
        yield Snippet(
            f"bench/{path.stem}", path, "", "", source,
            needs=frozenset({"cuda"} if cuda else ()),
            timeout=seconds,
            memory=_MEMORY * (manner.wave if cuda else 4),
            alone=not cuda,
            place=f"tclab bench: {steps[0][0].name}",
        )  # fmt: skip


def part(given: str) -> None:
    """On a worker: measure the steps in `given`, and show the file of their rows."""
    del sys.modules["__main__"].__file__  # or each process of the suite would begin with this job
    data = json.loads(given)
    steps = [(decode_fields(Case, case), tuple(modes)) for case, modes in data["steps"]]
    manner = decode_fields(Manner, data["manner"])
    with tempfile.TemporaryDirectory(prefix="tclab-bench-") as folder:
        book = Book.open(Path(folder), session.environment_on(manner.device))
        session.run(steps, manner, book, Clock(data["seconds"], time.monotonic()))
        display.show(Text("Rows", "rows", book.path.read_text("utf-8")))


def _rows(run: Run) -> Book:
    """What a job measured."""
    (shown,) = (each for each in run.artifacts if isinstance(each, Text))
    with tempfile.TemporaryDirectory(prefix="tclab-bench-") as folder:
        path = Path(folder, "rows.jsonl")
        path.write_text(shown.text, "utf-8")
        return read(path)
