"""Measure the cost from Python to SASS without a GPU, compared with Inductor's own compile.

``PYTHONPATH=src python -m benchmarks.target_cost [--against gpu] [--target h200] [NAME…]`` takes
the models of `tclab.workshop.catalog.models.whole`, or examples by name
(``products/mlp_train_step``; ``text/bert``: timm and transformers as they ship), each side in a
process of its own with empty caches, after its imports, in turns:

- *cpu* or *gpu*: the first call of ``torch.compile(model)``, and its backward in training;
- *target*: ``capture(model, target=…)`` and every stage of every kernel down to SASS, in a process
  that sees no GPU.

Printed of each: the fastest seconds of each side, and the one by the other. `--out FILE` keeps them
with what this machine is: ``--out records/target_against_cpu.json``.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tclab.site.store import checksums
from tclab.system import machine
from tclab.workshop.catalog.example import Example
from tclab.workshop.catalog.models.whole import MODELS


def example(name: str) -> Example:
    """Return the model or function, and its compile options."""
    from tclab.workshop.catalog import CORPORA, examples

    every = {n: each for corpus in CORPORA for n, each in examples(corpus).items()}
    return Example(name, MODELS[name]) if name in MODELS else every[name]


def own(device: str, name: str) -> float:
    """Return the seconds of the first call, compiled for this machine's ``cpu`` or ``cuda``."""
    import torch
    from torch.utils._pytree import tree_map_only

    from tclab.capturing.backward import run_backward

    chosen = example(name)
    with torch.device(device):
        model, args = chosen.make()
    args = tree_map_only(torch.Tensor, lambda t: t.to(device), args)
    wait = torch.cuda.synchronize if device == "cuda" else torch.cpu.synchronize
    wait()
    start = time.perf_counter()
    with torch.set_grad_enabled(chosen.backward):
        result = torch.compile(model, **chosen.options)(*args)
        if chosen.backward:
            run_backward(result)
    wait()
    return time.perf_counter() - start


def target(name: str, gpu: str) -> float:
    """Return the seconds of a capture for `gpu`, down to machine code."""
    import tclab

    chosen = example(name)
    model, args = chosen.make()
    request = tclab.capture(model, target=gpu, backward=chosen.backward, **chosen.options)
    start = time.perf_counter()
    kernels = request(*args).compile_kernels()
    seconds = time.perf_counter() - start
    if not kernels or not all("sass" in kernel.stages for kernel in kernels):
        raise SystemExit(f"{name}: not all kernels reached SASS")
    return seconds


def seconds_of(side: str, name: str, gpu: str) -> float:
    """Return the seconds of one side in this process."""
    if side == "target":
        return target(name, gpu)
    return own("cuda" if side == "gpu" else "cpu", name)


def cold(side: str, name: str, gpu: str) -> float:
    """Run one side in a process of its own, with empty caches."""
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
                            "TRITON_CACHE_DIR": f"{folder}/triton"}  # fmt: skip
        if side == "target":
            env["CUDA_VISIBLE_DEVICES"] = ""
        words = [sys.executable, "-m", "benchmarks.target_cost", "--side", side]
        done = subprocess.run(
            [*words, "--target", gpu, name], env=env, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise SystemExit(f"{side} {name} failed:\n{done.stderr[-2000:]}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def compared(name: str, sides: tuple[str, str], gpu: str, runs: int) -> dict[str, Any]:
    """Return the fastest seconds of each side."""
    turns = [{side: cold(side, name, gpu) for side in sides} for _ in range(runs)]
    return {"model": name} | {side: round(min(t[side] for t in turns), 1) for side in sides}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[], help=", ".join(MODELS))
    parser.add_argument("--target", default="h200")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a file for what was measured")
    parser.add_argument("--against", choices=("cpu", "gpu"), default="cpu", help="of this machine")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.side:
        print(json.dumps(seconds_of(words.side, words.names[0], words.target)))
        return
    head = {
        "target": words.target,
        "runs": words.runs,
        "machine": dataclasses.asdict(machine.here()),
    }
    rows = []
    for name in words.names or MODELS:
        sides = (words.against, "target")
        rows.append(row := compared(name, sides, words.target, words.runs))
        other, of_target = (row[side] for side in sides)
        seconds = f"{words.against} {other} s, target {of_target} s"
        print(f"{name:34} {seconds}; target / {words.against} {of_target / other:.2f}", flush=True)
        if words.out:
            words.out.write_text(json.dumps(head | {"models": rows}, indent=1) + "\n", "utf-8")
            checksums.write(words.out)


if __name__ == "__main__":
    main()
