"""Compare a target's kernels with those of the real GPU, function by function of a corpus.

    python -m tclab.verify.compare --out DIR [--target h200] [--jobs 16] [NAME …]
    python -m tclab.verify.compare --out DIR --corpus models --seconds 540 [NAME …]

On the machine with the GPU, every function is compiled twice by the same PyTorch, in
processes of their own: on the GPU by plain ``torch.compile``, and for the target in a process
that sees no GPU. Kernels are compared as text, with nothing removed: names,
device properties and configurations count. Of the output code around them, only the counter of
graphs and the names of cache files are taken out. What is already in DIR is not done again, so
that a corpus can be done in several runs; ``--side target`` does what needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from tclab.verify.running import Run, run_all
from tclab.verify.sides import SIDES, file, load
from tclab.verify.verdict import COUNTS, compare

#: The exit status of a command line that names what is not in the corpus; stderr says what.
UNKNOWN_NAME = 3


class UnknownName(LookupError):
    """There is no function or family of this name."""


def main(arguments: list[str] | None = None) -> int:
    """Run everything and print a report; 1 if a kernel differs, UNKNOWN_NAME for one, else 0."""
    options = _parser().parse_args(arguments)
    try:
        names = chosen(options.names, options.corpus)
    except UnknownName as error:
        print(error, file=sys.stderr)
        return UNKNOWN_NAME
    start = time.perf_counter()
    sides = (options.side,) if options.side else SIDES
    until = time.monotonic() + options.seconds
    run = Run(options.corpus, options.target, options.out, options.jobs, until, sides)
    run_all(names, run)
    report = compare_all(names, options.out)
    report["seconds"] = round(time.perf_counter() - start, 1)
    (options.out / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(summary(report))
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


def chosen(names: list[str], corpus: str = "functions") -> list[str]:
    """The examples of these names or families. UnknownName for those that are neither."""
    from tclab.catalog import examples

    there = examples(corpus)
    picked = [n for n in there if not names or n in names or n.split("/")[0] in names]
    if unknown := [n for n in names if not any(n in (p, p.split("/")[0]) for p in picked)]:
        raise UnknownName(f"no such function or family: {', '.join(unknown)}")
    return picked


def compare_all(names: list[str], out: Path) -> dict[str, Any]:
    """The report: counts of kernels, and a row a function that both sides have a result of."""
    done = [name for name in names if all(file(out, side, name).exists() for side in SIDES)]
    rows = [compare(name, *[load(out, side, name) for side in SIDES]) for name in done]
    total = {k: sum(row[k] for row in rows) for k in COUNTS}
    missing = [name for name in names if name not in done]
    return total | {"environment": environment(), "missing": missing, "functions": rows}


def environment() -> dict[str, str]:
    """The versions both sides were made with."""
    import torch
    import triton

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return {"torch": torch.__version__, "triton": triton.__version__, "gpu": gpu}


def summary(report: dict[str, Any]) -> str:
    """The report in a few lines, with the first line of each reason."""
    lines = [" ".join(f"{k}={v}" for k, v in report.items() if k != "functions")]
    for row in report["functions"]:
        reason = next((x for x in (row.get("reason") or "").splitlines() if x.strip()), "")
        shown = "" if row["verdict"] == "identical" else reason[:150]
        count = f"{row['identical']}+{row['either']}/{row['kernels']}"
        lines.append(f"{row['verdict']:<13} {count} {row['name']} {row['seconds']} {shown}")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
