"""Measure a suite, keep its rows, and continue where it stopped: ``tclab bench``.

Needs torch and the standard library, and for some models timm and transformers. Exit status: 0
done, or stopped at the end of the budget; 1 something is missing; 2 the command line is wrong; 130
interrupted. Nothing is lost if the command is stopped, because every row is written to the disk as
soon as it is measured.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from tclab.errors import BadRequest, TclabError
from tclab.site.remote.client import ClusterAddress
from tclab.system import machine
from tclab.workshop.bench import cluster_suite, report, session, suites
from tclab.workshop.bench.batch import Clock, Step
from tclab.workshop.bench.machine_load import describe_load
from tclab.workshop.bench.rows import Book, read
from tclab.workshop.bench.session import BenchOptions

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


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
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
    """Run the command and return the exit status."""
    start = time.monotonic()
    try:
        options = make_parser().parse_args(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 2
    try:
        machine.require_process_control("tclab bench")
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
    address = ClusterAddress.from_option(options.on, insecure=options.insecure)
    device = _choose_device(options, on_other_machine=bool(address or options.list))
    steps = _select_steps(options, device)
    if options.list:
        for case, modes in suites.select_missing(steps, ()):
            report.say(f"{case.name}: {', '.join(modes)}")
        return 0
    theirs = read(options.compare) if options.compare else None
    bench_options = BenchOptions(device, options.jobs or 0, options.wave, options.limit)
    if address:
        request = cluster_suite.ClusterRequest(address, options.torch, options.gpu)
        books = request.read_books(options.out, device)
    else:
        books = [Book.open(options.out, session.measure_environment(device))]
    done = {row.key for book in books for row in book if row.ok or not options.again}
    failed = 0
    if not (todo := suites.select_missing(steps, done)):
        report.say("every row is there already")
    elif address:
        failed, books = cluster_suite.measure(todo, bench_options, options.out, request, clock)
    else:
        if load := describe_load(device):
            report.warn(f"{load}; rows will show it as a spread")
        session.run_suite(todo, bench_options, books[0], clock)
    for book in books:
        _print_summary(book, theirs)
    return failed


def _print_summary(book: Book, other_book: Book | None) -> None:
    for line in report.summarize(book):
        report.say(line)
    report.say(str(book.path))
    if other_book:
        for line in report.compare_books(book, other_book):
            report.say(line)


def _choose_device(options: argparse.Namespace, *, on_other_machine: bool) -> str:
    """Return ``cuda``, or ``cpu`` if the suite is the CPU's or this machine has no GPU.

    Another machine is expected to have a GPU.
    """
    only_cpu = bool(options.suite) and set(options.suite) == {"cpu"}
    has_gpu = on_other_machine or machine.has_cuda()
    device = options.device or ("cpu" if only_cpu or not has_gpu else "cuda")
    if device == "cuda" and not has_gpu:
        step = "--device cpu, or --suite cpu"
        raise TclabError("tclab bench --device cuda", "there is no NVIDIA GPU here", step)
    return str(device)


def _select_steps(options: argparse.Namespace, device: str) -> list[Step]:
    scale = options.scale or ("gpu" if device == "cuda" else "cpu")
    names = options.suite or ["cpu" if device == "cpu" else "kernels"]
    steps = [step for name in names for step in suites.list_steps(name, scale)]
    steps = suites.select_cases(
        suites.put_tuned_last(suites.select_modes(steps, options.mode)), options.only
    )
    if not steps:
        raise BadRequest("--only, --mode", "no case has that name and such a mode", "see --list")
    return steps
