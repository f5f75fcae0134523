"""What the kernels of a function need at least, from `records/kernel_needs.json`.

The file counts the kernels that the recorded PyTorch writes for the card: bytes of their arguments,
and instructions by the unit that executes them. Here they become times, at the highest clock.
"""

from __future__ import annotations

import json
from typing import Any

from _recorded import HERE
from _roof import Roof

from tclab.targets import Target

# Results a cycle of one multiprocessor, compute capability 9.0: CUDA C++ Programming Guide,
# "Throughput of Native Arithmetic Instructions"; 128 are issued, by four schedulers of 32 lanes.
LANES = {"float": 128, "integer": 64, "multiply": 64, "memory": 32, "special": 16}


def counted() -> dict[str, Any]:
    """The file: of the project's records, or in this folder where it was downloaded."""
    places = HERE / "kernel_needs.json", HERE.parents[1] / "records" / "kernel_needs.json"
    content: dict[str, Any] = json.loads(next(p for p in places if p.exists()).read_text())
    return content


def arithmetic(kernel: dict[str, Any], target: Target) -> tuple[float, str, float]:
    """µs to issue a kernel's instructions, the busiest unit, and its µs."""
    counts, cycles = kernel["instructions"], target.sm_count * target.clocks.multiprocessor
    units = {u: counts.get(u, 0) / lanes / cycles for u, lanes in LANES.items()}
    busiest = max(units, key=lambda name: units[name])
    return sum(counts.values()) / 128 / cycles, busiest, units[busiest]


def needed(kernels: list[dict[str, Any]], roof: Roof, target: Target) -> dict[str, Any]:
    """µs of all kernels of a function, each by what it needs most; the largest one's settings."""
    largest = max(kernels, key=lambda k: k["bytes"])
    each = [arithmetic(k, target) for k in kernels]
    moving = [k["bytes"] / roof.copy(max(k["bytes"], 1)) * 1e6 for k in kernels]
    total = sum(k["bytes"] for k in kernels)
    return {
        "bytes": total,
        "moving": sum(moving),
        "issue": sum(issue for issue, _, _ in each),
        "unit": max(each, key=lambda e: e[2])[1],
        "unit_us": sum(us for *_, us in each),
        "computing": sum(max(issue, us) for issue, _, us in each),
        "bound": sum(max(m, issue, us) for m, (issue, _, us) in zip(moving, each, strict=True)),
        "load": largest["load_bits"],
        "registers": largest["registers"],
        "warps": int(largest["occupancy"].rstrip("%")),
        "largest": largest["bytes"] / total,
    }
