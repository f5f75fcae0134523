"""Compile the catalogue for a GPU of AMD's, down to AMDGCN, and count what came of it.

    python -m benchmarks.amd [--corpus functions] [--target mi300x] [-o FILE.json] [NAME …]
    python -m benchmarks.amd --corpus models --math [NAME …]

Which kernel attention gets on AMD's GPUs is not known; with ``--math`` it may have no other than
PyTorch's own operators, as within ``torch.nn.attention.sdpa_kernel(SDPBackend.MATH)``.

No AMD device is compared: the counts say what compiles and what is refused, not that it is right.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from tclab import targets
from tclab.explain import hip
from tclab.system import machine


def main() -> None:
    """Compile each example in this process, which compiles for AMD alone, and print the counts."""
    parser = argparse.ArgumentParser(prog="benchmarks.amd", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--corpus", default="functions", choices=("functions", "models"))
    parser.add_argument("--target", default="mi300x")
    parser.add_argument("--math", action="store_true", help="attention in PyTorch's own operators")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    target = targets.get(options.target, unverified=True)
    hip.prepare_process(target)
    from torch.nn.attention import SDPBackend, sdpa_kernel

    from tclab.workshop.catalog import examples

    known = examples(options.corpus)
    start = time.perf_counter()
    rows: list[dict[str, Any]] = []
    head = {"target": target.title, "attention": "MATH" if options.math else "as written",
            "machine": dataclasses.asdict(machine.here())}  # fmt: skip
    for name in options.names or known:
        with sdpa_kernel(SDPBackend.MATH) if options.math else nullcontext():
            rows.append({"name": name, **_compile(known[name], target)})
        print(json.dumps(rows[-1]), flush=True)
        report = {**head, **_count(rows), "seconds": round(time.perf_counter() - start)}
        if options.output:  # after each, so that a run that is stopped has the others
            text = json.dumps({**report, "rows": rows}, indent=1) + "\n"
            options.output.write_text(text, "utf-8")
    print(_count(rows))


def _compile(example: Any, target: targets.Target) -> dict[str, Any]:
    """Return the numbers of an example's kernels, of those with AMDGCN, and of each of its gaps."""
    from tclab.capturing.target.capture import capture_for
    from tclab.workshop.verify.sides import make_call

    fn, args = make_call(example, "cpu")
    try:
        capture = capture_for(
            fn, target, [(args, {})], backward=example.backward, options=example.options
        )
        kernels = capture.compile_kernels()
    except Exception as error:
        known = isinstance(error, targets.TargetError)
        return {"status": "refused" if known else "failed", "reason": str(error)[:300]}
    return {
        "status": "in part" if capture.gaps else "compiled",
        "kernels": len(kernels),
        "amdgcn": sum("amdgcn" in kernel.stages for kernel in kernels),
        "gaps": sorted({gap.cause for gap in capture.gaps}),
    }


def _count(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "statuses": dict(Counter(row["status"] for row in rows)),
        "kernels": sum(row.get("kernels", 0) for row in rows),
        "amdgcn": sum(row.get("amdgcn", 0) for row in rows),
    }


if __name__ == "__main__":
    main()
