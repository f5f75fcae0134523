"""Measure the cost of a report on a model with equal layers, as their number grows.

``PYTHONPATH=src python -m benchmarks.equal_layers [--layers 12 300] [--out FILE]`` compiles a model
of equal blocks (linear, GELU, linear, layer norm), with empty caches, each side in a process of its
own:

- *compile*: the first call of ``torch.compile(model)``, for the CPU;
- *report*: `tclab explain` for a GPU that is not there, to the finished HTML file.

Printed, and with ``--out records/equal_layers.json`` kept, of each: the processor's seconds, those
of the compilers that were started included, without importing PyTorch; of a report also its bytes,
kernels, and how many of them went through the assembler. Seconds of the clock would be those of
whatever else the machine does.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tclab.site.store import checksums
from tclab.system import machine

WIDTH = 64


def processor() -> float:
    """Return the seconds of this process and of its finished children."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def model(layers: int) -> tuple[Any, Any]:
    """Return equal blocks in inference, and their input: [32, 64]."""
    import torch
    from torch import nn

    blocks = [
        (nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH))
        for _ in range(layers)
    ]
    flat = (each for block in blocks for each in block)
    return nn.Sequential(*flat).eval().requires_grad_(False), torch.randn(32, WIDTH)


def compiled(layers: int) -> dict[str, Any]:
    """Compile with plain torch.compile."""
    import torch

    chain, x = model(layers)
    before = processor()
    torch.compile(chain)(x)
    return {"seconds": processor() - before}


def reported(layers: int) -> dict[str, Any]:
    """Make a report for a GPU that is not there."""
    from unittest import mock

    from tclab.capturing.machine_code import triton
    from tclab.explain import explain, preload
    from tclab.render.report import document

    chain, x = model(layers)
    preload.import_compiler(cpu=False)
    before = processor()
    with (
        preload.collecting_rarely(),
        mock.patch.object(triton, "disassemble", wraps=triton.disassemble) as assembled,
    ):
        report = explain(chain, [(x,)], target="h200")
        page = document.html(report)
    return {
        "seconds": processor() - before,
        "bytes": len(page.encode()),
        "kernels": report.counts.kernels,
        "library_calls": report.counts.library_calls,
        "assembled": assembled.call_count,
    }


SIDES: dict[str, Callable[[int], dict[str, Any]]] = {"compile": compiled, "report": reported}


def cold(side: str, layers: int) -> dict[str, Any]:
    """Run one side in a process of its own, with empty caches."""
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
                            "TRITON_CACHE_DIR": f"{folder}/triton"}  # fmt: skip
        words = [sys.executable, "-m", "benchmarks.equal_layers", "--side", side]
        done = subprocess.run(
            [*words, "--layers", str(layers)], env=env, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise SystemExit(f"{side} of {layers} layers failed:\n{done.stderr[-2000:]}")
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    row = {"layers": layers, "side": side} | measured
    print(row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, nargs="+", default=[12, 48, 300])
    parser.add_argument("--jobs", type=int, default=1, help="so many at a time")
    parser.add_argument("--out", type=Path, help="a file for what was measured")
    parser.add_argument("--side", choices=list(SIDES), help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.side:
        print(json.dumps(SIDES[words.side](words.layers[0])))
        return
    every = [(side, layers) for layers in words.layers for side in SIDES]
    with ThreadPoolExecutor(words.jobs) as pool:
        rows = list(pool.map(lambda each: cold(*each), every))
    if words.out:
        head = {"target": "h200", "machine": dataclasses.asdict(machine.here()), "rows": rows}
        words.out.write_text(json.dumps(head, indent=1) + "\n", "utf-8")
        checksums.write(words.out)


if __name__ == "__main__":
    main()
