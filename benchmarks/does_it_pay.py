"""Compare what `tclab explain --measure` says of a GPU's calls with other ways of timing them.

``PYTHONPATH=src python -m benchmarks.does_it_pay --out FILE [--training]`` measures functions and
models, forward or training. Each is timed by `tclab.explain.measure` and then, in another process,
by `triton.testing`, eager and compiled: by ``do_bench``, which pauses between calls, and, since a
GPU at full power lowers its clock, forward also by ``do_bench_cudagraph``, which does not. The
kernels' time is also read from a profile of CUDA events alone. The cases are compiled side by side,
and measured one after the other. Rows that FILE has of this GPU are kept, and not measured again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.floors import describe_environment
from benchmarks.floors_cases import CASES, MODELS, Case, make_catalog_model, make_whole_model
from tclab.model import DEFAULT, EAGER, GRAPHS, encode
from tclab.system import machine

#: Models at a batch that keeps the GPU busy. The others of `MODELS` wait for launches.
_LARGE = (
    Case("BERT base, batch 128", make_whole_model("bert_base", 128)),
    Case("ResNet-50, batch 192", make_whole_model("resnet50", 192)),
    Case("U-Net, batch 64", make_catalog_model("models.torch_models:unet", batch=64)),
    Case("transformer, batch 96", make_catalog_model("models.torch_models:transformer", batch=96)),
)
ALL_CASES = CASES | {case.name: case for case in _LARGE}
_SMALL_MODELS = tuple(case.name for case in MODELS if case.name in {"DLRM", "decoder of 22 layers"})
_LARGE_MODELS = tuple(case.name for case in _LARGE)
_FUNCTIONS = (
    *("products, bfloat16", "attention, causal", "pointwise, large", "swiglu, large"),
    *("softmax, large", "layer norm, large", "cross entropy", "products, float32"),
    *("convolution", "pointwise, small", "40 softmaxes, small", "softmax, small"),
)
_TRAINED = (
    *("layer norm, training", "pointwise, large", "perceptron, training step, small"),
    "products, bfloat16",
)
#: Calls in the profile of CUDA events.
_PROFILED = 30
#: Milliseconds of each of the ten repetitions of `do_bench_cudagraph`.
_IN_A_ROW = 150
_FILE = """
import torch
from benchmarks.does_it_pay import ALL_CASES

torch.manual_seed(0)
case = ALL_CASES[{name!r}]
torch.set_float32_matmul_precision("high" if case.tf32 else "highest")
fn, arguments = case.make("cuda")
for each in (*arguments, *getattr(fn, "parameters", list)()):
    each.requires_grad_({training} and each.is_floating_point())

def example_inputs():
    return arguments
"""


def _module_text(name: str, *, training: bool) -> str:
    return _FILE.format(name=name, training=training)


# --------------------------------------------------------------------------- the other ways


def time_otherwise(name: str, training: bool, pipe: Connection) -> None:
    """Compile a case, and time it on request, compiled and in eager."""
    import torch
    from triton.testing import do_bench, do_bench_cudagraph

    from benchmarks.floors_measure import profile
    from tclab.capturing.backward import run_backward

    names: dict[str, Any] = {}
    exec(_module_text(name, training=training), names)
    arguments = names["arguments"]
    leaves = [*arguments, *getattr(names["fn"], "parameters", list)()]

    def make_step(fn: Callable[..., object]) -> Callable[[], None]:
        def step() -> None:
            result = fn(*arguments)
            if training:
                run_backward(result)
                for leaf in leaves:
                    leaf.grad = None

        for _ in range(10):
            step()
        return step

    eager, compiled = make_step(names["fn"]), make_step(torch.compile(names["fn"], dynamic=False))
    torch.cuda.synchronize()
    pipe.send("ready")
    pipe.recv()
    found: dict[str, Any] = {"busy": profile(compiled, _PROFILED)["busy"]}
    for mode, step in ((DEFAULT, compiled), (EAGER, eager)):
        found[f"do_bench, {mode}"] = do_bench(step, return_mode="median") * 1e-3
        if not training:
            row = do_bench_cudagraph(step, rep=_IN_A_ROW, return_mode="median")
            found[f"do_bench_cudagraph, {mode}"] = row * 1e-3
    pipe.send(found)


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


def _measure_case(
    name: str,
    training: bool,
    options: list[str],
    turns: _Turns,
    rows: list[dict[str, Any]],
    out: Path,
) -> None:
    """Measure one case when it is its turn; add its row to `rows`, and write them all."""
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
                ExplainRequest.parse(
                    f"{path}:fn",
                    options=options,
                    backward=training,
                    measure_seconds=900,  # with the waiting for other cases
                ),
                on_step,
            )
            row["problem"] = found.problem
            row["problems"] = {mode.mode: mode.problem for mode in found.modes if mode.problem}
            row["kernels"] = found.profile and found.profile.busy
            for mode in found.compiled + ((found.eager,) if found.eager else ()):
                row[mode.mode] = {
                    "seconds": mode.median,
                    "host_share": mode.host_share,
                    "memory": encode(mode.memory),
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
            rows.append(row)
            environment, today = describe_environment(machine.gpu_and_driver()[0])
            whole = {"environment": environment, "recorded": today, "rows": rows}
            out.write_text(json.dumps(whole, indent=1) + "\n")
            if lock:
                lock[0].release()
            other.kill()
    print(_describe(row), flush=True)


def _describe(row: dict[str, Any]) -> str:
    label = row["name"] + (", training" if row["training"] else "")
    if row.get("problem") or "busy" not in row:
        return f"{label}: {row}"
    seconds = {mode: row[mode]["seconds"] for mode in (EAGER, DEFAULT, GRAPHS) if mode in row}
    others = {key: row[key] for key in row if key.startswith(("do_bench", "kernels", "busy"))}
    texts = (f"{key} {1e6 * each:.1f}" for key, each in {**seconds, **others}.items() if each)
    return f"{label:40} {' '.join(texts)} ({row[DEFAULT]['verdict']})"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the cases, and write their rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--without-graphs", action="store_true", help="leave CUDA graphs out")
    parser.add_argument("--at-once", type=int, default=9)
    given = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    if given.out.exists():
        kept = json.loads(given.out.read_text(encoding="utf-8"))
        same = kept["environment"] == describe_environment(machine.gpu_and_driver()[0])[0]
        rows = [row for row in kept["rows"] if same and "busy" in row]
    known = {(row["name"], row["training"]) for row in rows}
    functions = _TRAINED if given.training else _FUNCTIONS
    names = (*_LARGE_MODELS, *functions, *_SMALL_MODELS)
    options = ["dynamic=False", *(["mode=default"] if given.without_graphs else [])]
    cases = [(name, given.training) for name in names if (name, given.training) not in known]
    for start in range(0, len(cases), given.at_once):
        batch = cases[start : start + given.at_once]
        turns = _Turns(len(batch))
        threads = [
            threading.Thread(target=_measure_case, args=(*case, options, turns, rows, given.out))
            for case in batch
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
