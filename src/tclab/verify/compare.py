"""Compare a target's kernels with those of the real GPU, function by function of a corpus.

    python -m tclab.verify.compare --out DIR [--target h200] [--jobs 16] [NAME …]
    python -m tclab.verify.compare --out DIR --corpus models --seconds 540 [NAME …]

On the machine with the GPU, every function is compiled twice by the same PyTorch, in
processes of their own: for the target in a process that sees no GPU, and on the GPU by plain
``torch.compile``. What PyTorch times on a GPU to choose, it times before that, while nothing else
runs, and keeps in its cache: of compiles that share a GPU each would time the others, too. Kernels
are compared as text, with nothing removed: names, device properties and the settings in their
text count. Of the output code around them, only the counter of graphs and the names of cache files
are taken out. What is already in DIR is not done again, so
that a corpus can be done in several runs; ``--side target`` does what needs no GPU.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tclab import clone
from tclab.errors import BadRequest, TclabError
from tclab.verify.results import (
    COUNTS,
    SIDES,
    ComparisonReport,
    environment,
    file,
    load,
    save,
)
from tclab.verify.running import Comparison, run_all, time_products
from tclab.verify.verdict import compare


def main(arguments: list[str] | None = None) -> int:
    """Run everything and print a report; 1 if a kernel differs or PyTorch is missing, 2 for an
    unknown name, else 0.
    """
    options = _parser().parse_args(arguments)
    until = time.monotonic() + options.seconds
    sides = (options.side,) if options.side else SIDES
    run = Comparison(options.corpus, options.target, options.out, options.jobs, until, sides)
    try:
        report = compare_all(options.names, run)
    except TclabError as problem:
        print(problem, file=sys.stderr)
        return 2 if isinstance(problem, BadRequest) else 1
    print(text(report))
    return 1 if report["different"] else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tclab.verify.compare", description=__doc__)
    parser.add_argument("names", nargs="*", help="functions or families; all by default")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--corpus", choices=("functions", "models"), default="functions")
    parser.add_argument("--target", default="h200")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after them")
    parser.add_argument("--side", choices=SIDES, help="one side only")
    return parser


def compare_all(names: Sequence[str], run: Comparison) -> ComparisonReport:
    """Compile what is not there yet and compare what is; the report is in `run.out`, too.

    BadRequest for a name that is neither a function's nor a family's; TclabError where PyTorch or
    Triton is missing, or the corpus.
    """
    start = time.perf_counter()
    _check()
    chosen = choose(names, run.corpus)
    for side in (side for side in reversed(SIDES) if side in run.sides):  # what is timed first
        if side == "gpu":
            time_products(run)
        run_all(chosen, replace(run, sides=(side,)))
    report = report_of(chosen, run.out)
    report["seconds"] = round(time.perf_counter() - start, 1)
    save(run.out / "report.json", report, indent=1)
    return report


def _check() -> None:
    clone.need("catalog", "the comparison of targets")
    try:
        import torch  # noqa: F401
        import triton  # noqa: F401
    except ImportError as error:
        step = "install PyTorch and the Triton that belongs to it"
        raise TclabError("the comparison of targets", str(error), step) from error


def choose(names: Sequence[str], corpus: str = "functions") -> list[str]:
    """The examples of these names or families; all where there is none. BadRequest for others."""
    from tclab.catalog import examples

    there = examples(corpus)
    picked = [n for n in there if not names or n in names or n.split("/")[0] in names]
    if unknown := [n for n in names if not any(n in (p, p.split("/")[0]) for p in picked)]:
        cause = f"no such function or family: {', '.join(unknown)}"
        raise BadRequest("FUNCTION", cause, "leave it out to see all names in the report")
    return picked


def report_of(names: Sequence[str], out: Path) -> ComparisonReport:
    """Counts of kernels, and a row a function that both sides have a result of."""
    done = [name for name in names if all(file(out, side, name).exists() for side in SIDES)]
    rows = [compare(name, *[load(out, side, name) for side in SIDES]) for name in done]
    report: ComparisonReport = {
        "kernels": 0, "identical": 0, "measured": 0, "either": 0, "different": 0, "refused": 0,
        "environment": environment(),
        "missing": [name for name in names if name not in done],
        "functions": rows,
        "seconds": 0.0,
    }  # fmt: skip
    for count in COUNTS:
        report[count] = sum(row[count] for row in rows)
    return report


def text(report: ComparisonReport) -> str:
    """The report in a few lines, with the first line of each reason."""
    lines = [" ".join(f"{k}={v}" for k, v in report.items() if k != "functions")]
    for row in report["functions"]:
        reason = next((x for x in row["reason"].splitlines() if x.strip()), "")
        why = "" if row["verdict"] == "identical" else reason[:150]
        count = f"{row['identical']}+{row['either']}/{row['kernels']}"
        lines.append(f"{row['verdict']:<13} {count} {row['name']} {row['seconds']} {why}")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
