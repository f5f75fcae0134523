"""Compare a target's kernels with the real GPU's, for each function of a corpus.

    python -m tclab.workshop.verify.compare --out DIR [--target h200] [--jobs 16] [NAME …]
    python -m tclab.workshop.verify.compare --out DIR --corpus models --seconds 540 [NAME …]

On the machine with the GPU, the same PyTorch compiles each function twice, in two processes: for
the target in a process that sees no GPU, and on the GPU by plain ``torch.compile``. Before the
second compile PyTorch times its choices while nothing else runs, and keeps the answers in its
cache: compiles that share a GPU would disturb each other's timings. Kernels are compared as text,
with nothing removed: names, device properties and settings count. From the output code around them
only the counter of graphs and the names of cache files are removed. Results that are in DIR are not
made again, so several runs can do one corpus; ``--side target`` does the part that needs no GPU.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tclab.errors import BadRequest, TclabError
from tclab.system import machine
from tclab.workshop.verify.results import (
    COUNTS,
    SIDES,
    ComparisonReport,
    describe_environment,
    load,
    result_path,
    save,
)
from tclab.workshop.verify.running import ComparisonOptions, run_all, time_products
from tclab.workshop.verify.verdict import compare_function


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison, print the report, and return the exit status.

    The status is 1 if a kernel differs or PyTorch is missing, 2 for an unknown name, else 0.
    """
    options = _make_parser().parse_args(arguments)
    until = time.monotonic() + options.seconds
    sides = (options.side,) if options.side else SIDES
    run = ComparisonOptions(options.corpus, options.target, options.out, options.jobs, until, sides)
    try:
        report = compare_all(options.names, run)
    except TclabError as problem:
        print(problem, file=sys.stderr)
        return 2 if isinstance(problem, BadRequest) else 1
    print(format_report(report))
    return 1 if report["different"] else 0


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tclab.workshop.verify.compare", description=__doc__)
    parser.add_argument("names", nargs="*", help="functions or families; all by default")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument(
        "--corpus", choices=("functions", "models", "operators"), default="functions"
    )
    parser.add_argument("--target", default="h200")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after them")
    parser.add_argument("--side", choices=SIDES, help="one side only")
    return parser


def compare_all(names: Sequence[str], run: ComparisonOptions) -> ComparisonReport:
    """Compile the functions that have no result yet, compare both sides, and return the report.

    The report is also written to `run.out`. Raises BadRequest for a name that is neither a
    function's nor a family's. Raises TclabError if PyTorch, Triton or the corpus is missing, or the
    GPU for a result that is not there yet.
    """
    start = time.perf_counter()
    _require_torch()
    chosen = select_examples(names, run.corpus)
    if "gpu" in run.sides and not all(result_path(run.out, "gpu", n).exists() for n in chosen):
        _require_gpu()
    for side in (
        side for side in reversed(SIDES) if side in run.sides
    ):  # time the products that the target's side lists
        if side == "gpu":
            time_products(run)
        run_all(chosen, replace(run, sides=(side,)))
    report = make_report(chosen, run.out)
    report["seconds"] = round(time.perf_counter() - start, 1)
    save(run.out / "report.json", report, indent=1)
    return report


def _require_torch() -> None:
    try:
        import torch  # noqa: F401
        import triton  # noqa: F401
    except ImportError as error:
        step = "install PyTorch and the Triton that belongs to it"
        raise TclabError("the comparison of targets", str(error), step) from error


def _require_gpu() -> None:
    if not machine.here().gpu:
        step = "run it on a machine that has one, or for the target alone with --side target"
        raise TclabError("the comparison of targets", "no NVIDIA GPU here to compare with", step)


def select_examples(names: Sequence[str], corpus: str = "functions") -> list[str]:
    """Return the examples with these names or of these families; all examples if `names` is
    empty.
    """
    from tclab.workshop.catalog import examples

    known = examples(corpus)
    picked = [n for n in known if not names or n in names or n.split("/")[0] in names]
    if unknown := [n for n in names if not any(n in (p, p.split("/")[0]) for p in picked)]:
        cause = f"no such function or family: {', '.join(unknown)}"
        raise BadRequest("FUNCTION", cause, "leave it out to see all names in the report")
    return picked


def make_report(names: Sequence[str], out: Path) -> ComparisonReport:
    """Return the report of all functions with a result on both sides."""
    done = [name for name in names if all(result_path(out, side, name).exists() for side in SIDES)]
    rows = [compare_function(name, *[load(out, side, name) for side in SIDES]) for name in done]
    report: ComparisonReport = {
        "kernels": 0, "identical": 0, "measured": 0, "either": 0, "different": 0, "refused": 0,
        "environment": describe_environment(),
        "missing": [name for name in names if name not in done],
        "functions": rows,
        "seconds": 0.0,
    }  # fmt: skip
    for count in COUNTS:
        report[count] = sum(row[count] for row in rows)
    return report


def format_report(report: ComparisonReport) -> str:
    """Format the report: a line of counts, then a line for each function."""
    lines = [" ".join(f"{k}={v}" for k, v in report.items() if k != "functions")]
    for row in report["functions"]:
        reason = next((x for x in row["reason"].splitlines() if x.strip()), "")
        why = "" if row["verdict"] == "identical" else reason[:150]
        count = f"{row['identical']}+{row['either']}/{row['kernels']}"
        lines.append(f"{row['verdict']:<13} {count} {row['name']} {row['seconds']} {why}")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
