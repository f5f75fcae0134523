"""Repeat verdicts of `tclab explain --measure` on functions whose answer is known, under load.

``PYTHONPATH=src python -m benchmarks.verdicts --out FILE`` measures three functions in turns on
this machine's CPU: a matrix product, which eager and compiled hand to the same library, a chain of
pointwise operations, which compiled runs in one pass over memory, and one addition of four numbers,
which compiled runs behind guards. Beside them other programs should use the cores. *Unsteady* is
never wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import unittest.mock
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.floors import describe_environment
from tclab.explain import measure
from tclab.explain.request import ExplainRequest
from tclab.explain.steps import silent
from tclab.model import FASTER, SAME, SLOWER, UNSTEADY

_FILE = """
import torch

def product(x, y):
    return x @ y

def chain(x, y):
    for _ in range(6):
        x = torch.tanh(x * y + 1) * torch.sigmoid(x)
    return x

def addition(x):
    return x + 1
"""
#: The inputs of each function, and its right verdict.
_SQUARE, _WIDE = ("f32[512,512]",) * 2, ("f32[512,2048]",) * 2
_KNOWN = {"product": (_SQUARE, SAME), "chain": (_WIDE, FASTER), "addition": (("f32[4]",), SLOWER)}


def measure_once(file: Path, name: str) -> dict[str, Any]:
    """Measure a function once; return the verdict, the speed-ups and the load of the machine."""
    inputs, right = _KNOWN[name]
    request = ExplainRequest.parse(f"{file}:{name}", inputs=inputs, options=["dynamic=False"])
    with unittest.mock.patch.object(measure, "_profile", return_value=None):  # says nothing here
        found = measure.measure(request, silent)
    (mode,) = found.compiled
    verdict = found.verdict(mode)
    return {
        "name": name,
        "verdict": verdict,
        "wrong": verdict not in (right, UNSTEADY),
        "speedups": found.speedups(mode),
        "load": os.getloadavg()[0],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all functions `--times` times, and write a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--times", type=int, default=20)
    given = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "known.py")
        file.write_text(_FILE)
        for _ in range(given.times):
            for name in _KNOWN:
                rows.append(measure_once(file, name))
                print(rows[-1], flush=True)
                environment, today = describe_environment("")
                whole = {"environment": environment, "recorded": today, "rows": rows}
                given.out.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
