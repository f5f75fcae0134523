"""Occupancy, against NVIDIA's own calculator and against the limits that are met."""

from __future__ import annotations

import pytest

from tclab import targets
from tclab.capturing.machine_code.occupancy import Occupancy, compute_occupancy

#: What the calculator calls a limit.
LIMITS = {"warps": 1, "registers": 2, "shared memory": 4, "blocks": 8}

#: Target, threads a block, registers a thread, shared bytes a block; then blocks a multiprocessor
#: and the limits met, as `cudaOccMaxActiveBlocksPerMultiprocessor` of cuda_occupancy.h (CUDA
#: 12.8, compiled as C, with all shared memory the multiprocessor can have) returned them.
CALCULATOR = (
    ("t4", 32, 16, 0, 16, 8),
    ("t4", 128, 18, 0, 8, 1),
    ("t4", 128, 32, 0, 8, 1),
    ("t4", 128, 33, 0, 8, 1),
    ("t4", 128, 64, 16384, 4, 4),
    ("t4", 128, 168, 0, 3, 2),
    ("t4", 64, 23, 16, 16, 9),
    ("t4", 256, 40, 32768, 2, 4),
    ("t4", 256, 64, 1024, 4, 3),
    ("t4", 256, 128, 100, 2, 2),
    ("t4", 512, 48, 65000, 1, 4),
    ("t4", 1024, 32, 0, 1, 1),
    ("t4", 1024, 64, 512, 1, 3),
    ("t4", 96, 72, 5000, 9, 2),
    ("t4", 32, 255, 20000, 3, 4),
    ("t4", 128, 20, 60000, 1, 4),
    ("a100", 32, 16, 0, 32, 8),
    ("a100", 128, 18, 0, 16, 1),
    ("a100", 128, 32, 0, 16, 3),
    ("a100", 128, 33, 0, 12, 2),
    ("a100", 128, 64, 16384, 8, 2),
    ("a100", 128, 168, 0, 3, 2),
    ("a100", 64, 23, 16, 32, 9),
    ("a100", 256, 40, 32768, 4, 4),
    ("a100", 256, 64, 1024, 4, 2),
    ("a100", 256, 128, 100, 2, 2),
    ("a100", 512, 48, 65000, 2, 6),
    ("a100", 1024, 32, 0, 2, 3),
    ("a100", 1024, 64, 512, 1, 2),
    ("a100", 96, 72, 5000, 9, 2),
    ("a100", 32, 255, 20000, 7, 4),
    ("a100", 128, 20, 60000, 2, 4),
    ("a10", 128, 33, 0, 12, 3),
    ("a10", 512, 48, 65000, 1, 4),
    ("l40s", 32, 16, 0, 24, 8),
    ("l40s", 128, 33, 0, 12, 3),
    ("l40s", 256, 40, 32768, 3, 4),
    ("l40s", 512, 48, 65000, 1, 4),
    ("l40s", 32, 255, 20000, 4, 4),
    ("h200", 32, 16, 0, 32, 8),
    ("h200", 128, 18, 0, 16, 1),
    ("h200", 128, 32, 0, 16, 3),
    ("h200", 128, 33, 0, 12, 2),
    ("h200", 128, 64, 16384, 8, 2),
    ("h200", 128, 168, 0, 3, 2),
    ("h200", 64, 23, 16, 32, 9),
    ("h200", 256, 40, 32768, 6, 6),
    ("h200", 256, 64, 1024, 4, 2),
    ("h200", 256, 128, 100, 2, 2),
    ("h200", 512, 48, 65000, 2, 2),
    ("h200", 1024, 32, 0, 2, 3),
    ("h200", 1024, 64, 512, 1, 2),
    ("h200", 96, 72, 5000, 9, 2),
    ("h200", 32, 255, 20000, 8, 2),
    ("h200", 128, 20, 60000, 3, 4),
    ("b200", 128, 33, 0, 12, 2),
    ("b200", 512, 48, 65000, 2, 2),
)


@pytest.mark.parametrize(("target", "threads", "registers", "shared", "blocks", "met"), CALCULATOR)
def test_the_calculator_says_the_same(
    target: str, threads: int, registers: int, shared: int, blocks: int, met: int
) -> None:
    device = targets.get(target).architecture
    found = compute_occupancy(device, threads=threads, registers=registers, shared=shared)
    assert found.blocks == blocks
    assert sum(LIMITS[name] for name in found.bounds) == met
    assert found.warps == blocks * -(-threads // 32) <= found.most_warps


def test_it_is_said_in_words() -> None:
    h200 = targets.get("h200").architecture
    half = compute_occupancy(h200, threads=128, registers=64, shared=0)
    assert str(half) == "50% (32 of 64 warps), bounded by registers"
    assert str(Occupancy(16, 64, 64, ("warps", "registers"))) == (
        "100% (64 of 64 warps), bounded by warps and registers"
    )


def test_a_kernel_that_cannot_start_has_none() -> None:
    h200 = targets.get("h200").architecture
    assert compute_occupancy(h200, threads=1024, registers=128, shared=0).share == 0
