"""Repeat verdicts of `tclab explain --measure` on functions whose answer is known, under load.

``PYTHONPATH=src python -m benchmarks.verdicts --out FILE`` measures functions in turns on this
machine's CPU: products in a frame that Dynamo gives up, so that the same code runs compiled and in
eager; a product that both hand to the same library; a chain of pointwise operations; and one
addition of four numbers. The answer is the processor's time in eager over that compiled, on one
thread of one process, which other programs change little. Beside the measurements other programs
should use the cores. *Unsteady* is never wrong. Rows that FILE has already are not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.floors import describe_environment
from tclab.explain import inputs, measure
from tclab.explain.measure import modes
from tclab.explain.request import ExplainRequest
from tclab.explain.steps import silent
from tclab.model import FASTER, SAME, UNSTEADY

_FILE = """
import torch

def given_up(x, y):
    for _ in range(2):
        torch._dynamo.graph_break()
        x = x @ y
    return x

def product(x, y):
    return x @ y

def chain(x, y):
    for _ in range(6):
        x = torch.tanh(x * y + 1) * torch.sigmoid(x)
    return x

def addition(x):
    return x + 1
"""
_SQUARE, _WIDE = ("f32[512,512]",) * 2, ("f32[512,2048]",) * 2
#: The inputs of each function.
_INPUTS = {"given_up": _SQUARE, "product": _SQUARE, "chain": _WIDE, "addition": ("f32[4]",)}
#: Processor seconds of one turn, and turns.
_TURN, _TURNS = 0.05, 21
#: *As fast as eager* is right within this range of 1; *faster* and *slower* are right beyond this.
_SAME_RANGE, _LEAST = 0.1, 0.03


def find_answer(file: Path, name: str) -> float:
    """Return the processor's time in eager over that compiled, as the median of turns."""
    names: dict[str, Any] = {}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    arguments = [inputs.make(inputs.parse(each)) for each in _INPUTS[name]]
    compiled = torch.compile(names[name], dynamic=False)

    def seconds(fn: Callable[..., object], calls: int) -> float:
        began = time.process_time()
        for _ in range(calls):
            fn(*arguments)
        return (time.process_time() - began) / calls

    for fn in (names[name], compiled):
        seconds(fn, 3)
    calls = max(1, round(_TURN / seconds(names[name], 3)))
    turns = [seconds(names[name], calls) / seconds(compiled, calls) for _ in range(_TURNS)]
    return statistics.median(turns)


def is_wrong(verdict: str, answer: float) -> bool:
    """Return whether a verdict does not agree with the answer."""
    if verdict == SAME:
        return abs(answer - 1) > _SAME_RANGE
    if verdict == UNSTEADY:
        return False
    return answer < 1 + _LEAST if verdict == FASTER else answer > 1 - _LEAST


def measure_repeatedly(file: Path, name: str, times: int) -> Iterator[dict[str, Any]]:
    """Prepare a function's processes once, and measure it a number of times. Yield for each the
    verdict, the speed-ups and the load of the machine.
    """
    request = ExplainRequest.parse(
        f"{file}:{name}", inputs=_INPUTS[name], options=["dynamic=False"], measure_seconds=1800.0
    )
    with measure.preparing(request, silent) as prepared:
        for number in range(times):
            for each in prepared:
                each.rounds.clear()
            found = modes.measure_modes(prepared, silent, lambda _: None)  # kernels say nothing
            (mode,) = found.compiled
            yield {
                "name": name,
                "number": number,  # 0 is the first with these processes
                "verdict": found.verdict(mode),
                "speedups": found.speedups(mode),
                "waited": [each.waited_share for each in found.modes],
                "load": os.getloadavg()[0],
            }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each function until it has `--times` rows, then find the answers and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(_INPUTS))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--each", type=int, default=4, help="measured with the same processes")
    given = parser.parse_args(arguments)
    whole = json.loads(given.out.read_text()) if given.out.exists() else {"rows": []}
    environment, today = describe_environment("")
    whole |= {"environment": environment, "recorded": today}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "known.py")
        file.write_text(_FILE)
        for name, times in _list_missing(whole["rows"], given.names, given.times, given.each):
            for row in measure_repeatedly(file, name, times):
                whole["rows"].append(row)
                print(row, flush=True)
                given.out.write_text(json.dumps(whole, indent=1) + "\n")
        whole["answers"] = {name: find_answer(file, name) for name in given.names}
    whole["counts"] = count(whole["rows"], whole["answers"])
    given.out.write_text(json.dumps(whole, indent=1) + "\n")
    print(json.dumps({"answers": whole["answers"], "counts": whole["counts"]}, indent=1))


def _list_missing(
    rows: Sequence[dict[str, Any]], names: Sequence[str], times: int, each: int
) -> Iterator[tuple[str, int]]:
    """Yield the functions in turns, with how many of their missing rows to measure now."""
    missing = {name: times - sum(row["name"] == name for row in rows) for name in names}
    while any(left > 0 for left in missing.values()):
        for name, left in missing.items():
            if left > 0:
                yield name, min(each, left)
                missing[name] -= each


def count(rows: Sequence[dict[str, Any]], answers: dict[str, float]) -> dict[str, dict[str, int]]:
    """Return how many verdicts on each function are right, unsteady, and wrong."""
    counts = {name: {"right": 0, "unsteady": 0, "wrong": 0} for name in answers}
    for row in rows:
        if row["name"] in answers:
            wrong = is_wrong(row["verdict"], answers[row["name"]])
            kind = "unsteady" if row["verdict"] == UNSTEADY else "wrong" if wrong else "right"
            counts[row["name"]][kind] += 1
    return counts


if __name__ == "__main__":
    main()
