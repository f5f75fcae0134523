"""``tclab bench``: measure a suite, keep its rows, go on where it stopped.

Needs torch and the standard library; timm and transformers for their models. Exit status: 0 done,
or stopped at the end of the budget; 1 something is missing; 2 the command line is wrong; 130
interrupted. Nothing is lost by stopping: every row is on the disk as soon as it is measured.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from tclab import clone, machine
from tclab.bench import away, report, session, suites
from tclab.bench.batch import Clock, Step
from tclab.bench.busy import busy
from tclab.bench.rows import Book, read
from tclab.bench.session import Manner
from tclab.engine.doors.far import Door
from tclab.errors import BadRequest, TclabError

EPILOG = """
examples:
  python -m tclab bench --suite cpu --budget 600           this machine's processor, 10 minutes
  python -m tclab bench --suite kernels --budget 500       stop before 500 s, with all rows kept
  python -m tclab bench --suite models --only resnet       the cases with that in their name
  python -m tclab bench --suite cpu --compare theirs.jsonl the two machines side by side
  python -m tclab bench --suite models --on tcp://127.0.0.1:8786   the GPUs of a cluster

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
    out.add_argument("--on", metavar="ADDRESS", help="measure on a Dask cluster: see tclab run")
    out.add_argument("--insecure", action="store_true", help="of --on, as in tclab run")
    out.add_argument("--torch", default="", metavar="X.Y", help="of --on: the PyTorch wanted")
    out.add_argument("--gpu", default="", metavar="NAME", help="of --on: a part of its name")
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
    door = Door.given(options.on, insecure=options.insecure)
    device = _device(options, elsewhere=bool(door or options.list))
    steps = _steps(options, device)
    if options.list:
        for case, modes in suites.missing(steps, ()):
            report.say(f"{case.name}: {', '.join(modes)}")
        return 0
    clone.need("catalog", "tclab bench")
    theirs = read(options.compare) if options.compare else None
    manner = Manner(device, options.jobs or 0, options.wave, options.limit)
    if door:
        wanted = away.Wanted(door, options.torch, options.gpu)
        books = wanted.books(options.out, device)
    else:
        books = [Book.open(options.out, session.environment_on(device))]
    done = {row.key for book in books for row in book if row.ok or not options.again}
    failed = 0
    if not (todo := suites.missing(steps, done)):
        report.say("every row is there already")
    elif door:
        failed, books = away.measure(todo, manner, options.out, wanted, clock)
    else:
        if trouble := busy(device):
            report.warn(f"{trouble}; rows will show it as a spread")
        session.run(todo, manner, books[0], clock)
    for book in books:
        _summarise(book, theirs)
    return failed


def _summarise(book: Book, theirs: Book | None) -> None:
    for line in report.summary(book):
        report.say(line)
    report.say(str(book.path))
    if theirs:
        for line in report.comparison(book, theirs):
            report.say(line)


def _device(options: argparse.Namespace, *, elsewhere: bool) -> str:
    """Where to measure: on the GPU unless the suite is the CPU's, or there is none here; another
    machine is taken to have one.
    """
    only_cpu = bool(options.suite) and set(options.suite) == {"cpu"}
    has_gpu = elsewhere or machine.has_cuda()
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
