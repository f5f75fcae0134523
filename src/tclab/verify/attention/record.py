"""Ask the GPU that is here which attention kernel it takes, and compare with the rules.

    python -m tclab.verify.attention.record --out FILE [--drawn 4000]

Needs torch with CUDA and an NVIDIA GPU, nothing else, and takes seconds: nothing is computed.
FILE is text: a head of ``# name: value`` lines, then a line a case: what the GPU answered, what
the rules say, the case. The exit status is 1 if one differs.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import torch

from tclab.capturing.target.sdpa import asked
from tclab.capturing.target.sdpa.choose import choose
from tclab.capturing.target.sdpa.rule import Version
from tclab.capturing.target.sdpa.versions import VERSIONS
from tclab.verify.attention.cases import Case, cases
from tclab.verify.attention.machine import machine

Row = tuple[str, str, Case]


def main(arguments: list[str] | None = None) -> int:
    """Ask for all cases, write the file, print a summary; 1 if the rules differ from the GPU."""
    parser = argparse.ArgumentParser(prog="tclab.verify.attention.record", description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--drawn", type=int, default=4000, help="random cases. Default: 4000")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # a refused call says why, every time
    major, minor = torch.__version__.split(".")[:2]
    version = VERSIONS.get((int(major), int(minor)))
    if not torch.cuda.is_available() or version is None:
        print(f"torch {torch.__version__}: no GPU here, or no rules for this version")
        return 2
    start = time.perf_counter()
    rows = [ask(case, version) for case in cases(options.drawn)]
    head = facts(rows, time.perf_counter() - start)
    options.out.write_text(text(head, rows), encoding="utf-8")
    return report(head, rows)


def ask(case: Case, version: Version) -> Row:
    """The GPU's answer and the rules' answer for one case."""
    call = case.call("cuda")
    here = machine(case, torch.cuda.get_device_capability(), asked.cudnn_version())
    with case.switches():
        return asked.answer(call), choose(call, here, version).backend, case


def facts(rows: list[Row], seconds: float) -> dict[str, str]:
    """Which machine answered, and how often the rules were right."""
    major, minor = torch.cuda.get_device_capability()
    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda or "",
        "cudnn": str(asked.cudnn_version()),
        "gpu": torch.cuda.get_device_name(),
        "capability": f"{major}.{minor}",
        "date": time.strftime("%Y-%m-%d"),
        "seconds": f"{seconds:.1f}",
        "cases": str(len(rows)),
        "different": str(sum(gpu != ours for gpu, ours, _ in rows)),
        "answers": ", ".join(f"{k} {n}" for k, n in Counter(r[0] for r in rows).most_common()),
    }


def text(head: dict[str, str], rows: list[Row]) -> str:
    """The file: the head, then a line a case."""
    lines = [f"# {name}: {value}" for name, value in head.items()]
    return "\n".join([*lines, *(f"{gpu} {ours} {case}" for gpu, ours, case in rows)]) + "\n"


def report(head: dict[str, str], rows: list[Row]) -> int:
    """Print the head and the cases that differ."""
    for name, value in head.items():
        print(f"{name}: {value}")
    wrong = [row for row in rows if row[0] != row[1]]
    for gpu, ours, case in wrong[:40]:
        print(f"  GPU {gpu}, rules {ours}: {case}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
