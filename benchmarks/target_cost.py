"""What it costs to go from Python to SASS without a GPU.

``PYTHONPATH=src python -m benchmarks.target_cost [--runs 3] [NAME]`` times a corpus function
(default: the MLP training step), each time in a process of its own with empty caches, after
its imports:

- *real*: the first forward and backward on the GPU that is here, up to its last kernel;
- *target*: ``capture(…, target=…)`` and every stage of every kernel down to SASS, in a process
  that sees no GPU. Where this machine has none, only this is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

SIDES = ("real", "target")


def real(name: str, _target: str) -> float:
    """Seconds of the first forward and backward of a corpus function on the GPU."""
    import torch
    from torch.utils._pytree import tree_map_only

    from tclab.catalog import examples

    example = examples()[name]
    with torch.device("cuda"):
        fn, args = example.make()
    args = tree_map_only(torch.Tensor, lambda t: t.cuda(), args)
    torch.cuda.synchronize()
    start = time.perf_counter()
    torch.compile(fn, **example.options)(*args).sum().backward()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def target(name: str, gpu: str) -> float:
    """Seconds of the same function's compile for `gpu`, down to machine code."""
    import tclab
    from tclab.catalog import examples

    example = examples()[name]
    fn, args = example.make()
    capture = tclab.capture  # its import is not counted
    start = time.perf_counter()
    captured = capture(fn, target=gpu, backward=example.backward, **example.options)(*args)
    stages = [kernel.stages["sass"] for kernel in captured.compile_kernels()]
    seconds = time.perf_counter() - start
    if not stages:
        raise SystemExit(f"{name}: no Triton kernel")
    return seconds


def cold(side: str, name: str, gpu: str) -> float:
    """One side in a process of its own, with empty caches."""
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
                            "TRITON_CACHE_DIR": f"{folder}/triton"}  # fmt: skip
        if side == "target":
            env["CUDA_VISIBLE_DEVICES"] = ""
        words = [sys.executable, "-m", "benchmarks.target_cost", "--side", side, "--target", gpu]
        done = subprocess.run([*words, name], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{side} {name} failed:\n{done.stderr[-2000:]}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", default="products/mlp_train_step")
    parser.add_argument("--target", default="h200")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.side:
        print(json.dumps({"real": real, "target": target}[words.side](words.name, words.target)))
        return
    import torch

    sides = SIDES if torch.cuda.is_available() else SIDES[1:]
    seconds = {s: [cold(s, words.name, words.target) for _ in range(words.runs)] for s in sides}
    for side, taken in seconds.items():
        print(
            f"{side:8} median {statistics.median(taken):6.2f} s  of {[round(t, 2) for t in taken]}"
        )
    if len(seconds) == len(SIDES):
        ratio = statistics.median(seconds["target"]) / statistics.median(seconds["real"])
        print(f"target / real: {ratio:.2f}")


if __name__ == "__main__":
    main()
