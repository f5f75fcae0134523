"""Compare what `tclab explain --measure` says of a GPU's calls with other ways of timing them.

``PYTHONPATH=src python -m benchmarks.does_it_pay --out FILE [NAME…]`` measures functions and models
of `benchmarks.floors_cases`, forward and training. Each is timed three times on its own: by
`tclab.explain.measure`, by ``triton.testing.do_bench`` (which empties L2 before each call), and by
``torch.utils.benchmark``; the kernels' time is also read from a profile of CUDA events alone. The
cases are compiled side by side, and measured one after the other.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.floors import describe_environment
from benchmarks.floors_cases import CASES
from tclab.model import DEFAULT, EAGER, GRAPHS
from tclab.system import machine

_TRAINING = (
    *("layer norm, training", "transformer", "U-Net", "ResNet-50", "pointwise, large"),
    *("perceptron, training step, small", "products, bfloat16"),
)
_NAMES = (
    *("pointwise, small", "pointwise, large", "swiglu, large", "softmax, large", "softmax, small"),
    *("layer norm, large", "cross entropy", "40 softmaxes, small", "products, float32"),
    *("products, bfloat16", "attention, causal", "convolution", "BERT base", "ResNet-50"),
    *("decoder of 22 layers", "U-Net", "transformer", "DLRM"),
)
#: Calls in a row: a GPU at full power is slower after a while than after a pause.
_TIMED = 100
_FILE = """
import torch
from benchmarks.floors_cases import CASES

torch.manual_seed(0)
case = CASES[{name!r}]
torch.set_float32_matmul_precision("high" if case.tf32 else "highest")
fn, arguments = case.make("cuda")
for each in arguments if {training} else ():
    each.requires_grad_(each.is_floating_point())

def example_inputs():
    return arguments
"""


def _module_text(name: str, *, training: bool) -> str:
    return _FILE.format(name=name, training=training)


# --------------------------------------------------------------------------- the other ways


def time_otherwise(name: str, training: bool, pipe: Connection) -> None:
    """Compile a case, and time it on request."""
    import torch
    import torch.utils.benchmark
    from triton.testing import do_bench

    from benchmarks.floors_measure import profile
    from tclab.capturing.backward import run_backward

    names: dict[str, Any] = {}
    exec(_module_text(name, training=training), names)
    compiled, arguments = torch.compile(names["fn"], dynamic=False), names["arguments"]
    leaves = [*arguments, *getattr(names["fn"], "parameters", list)()]

    def step() -> None:
        result = compiled(*arguments)
        if training:
            run_backward(result)
            for leaf in leaves:
                leaf.grad = None

    for _ in range(10):
        step()
    torch.cuda.synchronize()
    pipe.send("ready")
    pipe.recv()
    timer = torch.utils.benchmark.Timer("step()", globals={"step": step})
    pipe.send(
        {
            "do_bench": do_bench(step, return_mode="median") * 1e-3,
            "timer": timer.timeit(_TIMED).median,
            "busy": profile(step, _TIMED)["busy"],
        }
    )


# --------------------------------------------------------------------------- one after the other


class _Turns:
    """Let all cases prepare at once, and then measure one after the other."""

    def __init__(self, cases: int) -> None:
        self._unprepared = cases
        self._change = threading.Condition()
        self._measuring = threading.Lock()

    def prepared(self) -> None:
        """Count a case that is prepared, or that failed."""
        with self._change:
            self._unprepared -= 1
            self._change.notify_all()

    def wait(self) -> threading.Lock:
        """Wait until all cases are prepared; return the lock to measure with."""
        with self._change:
            self._change.wait_for(lambda: self._unprepared <= 0)
        return self._measuring


def _measure_case(name: str, training: bool, turns: _Turns, rows: list[dict[str, Any]]) -> None:
    from tclab.explain import measure
    from tclab.explain.request import ExplainRequest
    from tclab.explain.steps import Step

    waiting = [True]
    mine, theirs = multiprocessing.get_context("spawn").Pipe()
    other = multiprocessing.get_context("spawn").Process(
        target=time_otherwise, args=(name, training, theirs)
    )
    other.start()
    theirs.close()
    row: dict[str, Any] = {"name": name, "training": training}
    lock: list[threading.Lock] = []

    def on_step(step: Step) -> None:
        if "rounds" in step.work and waiting.pop():
            if mine.poll(250):
                mine.recv()
            turns.prepared()
            lock.append(turns.wait())
            lock[0].acquire()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "case.py")
        path.write_text(_module_text(name, training=training))
        try:
            found = measure.measure(
                ExplainRequest.parse(f"{path}:fn", options=["dynamic=False"], backward=training),
                on_step,
            )
            row["problem"] = found.problem
            row["problems"] = {mode.mode: mode.problem for mode in found.modes if mode.problem}
            row["kernels"] = found.profile and found.profile.busy
            for mode in found.compiled + ((found.eager,) if found.eager else ()):
                row[mode.mode] = {
                    "seconds": mode.median,
                    "host_share": mode.host_share,
                    "peak": mode.peak,
                    "first": mode.first,
                    "verdict": "" if mode.mode == EAGER else found.verdict(mode),
                }
            mine.send("go")
            row |= mine.recv()
        except (EOFError, OSError) as error:
            row["problem"] = f"{row.get('problem', '')} other: {error!r}"
        finally:
            if waiting:
                turns.prepared()
            if lock:
                lock[0].release()
            other.kill()
    rows.append(row)
    print(_describe(row), flush=True)


def _describe(row: dict[str, Any]) -> str:
    label = row["name"] + (", training" if row["training"] else "")
    if row.get("problem") or "timer" not in row:
        return f"{label}: {row}"
    seconds = {mode: row[mode]["seconds"] for mode in (EAGER, DEFAULT, GRAPHS) if mode in row}
    others = {key: row[key] for key in ("do_bench", "timer", "kernels", "busy")}
    texts = (f"{key} {1e6 * each:.1f}" for key, each in {**seconds, **others}.items())
    return f"{label:40} {' '.join(texts)} ({row[DEFAULT]['verdict']})"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all cases, or the named ones, and write their rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--at-once", type=int, default=13)
    parser.add_argument("--skip", type=int, default=0, help="cases of the list to leave out")
    given = parser.parse_args(arguments)
    cases = [(name, CASES[name].backward) for name in given.names or _NAMES]
    if not given.names:
        cases += [(name, True) for name in _TRAINING]
    cases = list(dict.fromkeys(cases))[given.skip :]
    rows: list[dict[str, Any]] = []
    for start in range(0, len(cases), given.at_once):
        batch = cases[start : start + given.at_once]
        turns = _Turns(len(batch))
        threads = [
            threading.Thread(target=_measure_case, args=(*case, turns, rows)) for case in batch
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        environment, today = describe_environment(machine.gpu_and_driver()[0])
        whole = {"environment": environment, "recorded": today, "rows": rows}
        given.out.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
