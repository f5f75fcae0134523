"""A kernel's facts as formats 1 and 2 have them, in words: read once, and said as they were."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tclab.model import FusedGroup, NotFused, Occupancy, TimedAnswer, TimedQuestion
from tclab.render.viewer.facts import words
from tclab.store.kernel_facts import direction, facts

ROOT = Path(__file__).resolve().parents[2]


def kernels(data: Any) -> Iterator[dict[str, Any]]:
    """The kernels anywhere in stored data whose facts are words."""
    if isinstance(data, dict):
        is_kernel = "kernel" in (data.get("kind"), data.get("$kind")) and "kernel_name" in data
        if is_kernel and "$kind" not in data["facts"]:
            yield data
        data = list(data.values())
    for item in data if isinstance(data, list) else ():
        yield from kernels(item)


RECORDED = [
    kernel
    for file in sorted((ROOT / "records").glob("*/*/*/*.json"))
    for kernel in kernels(json.loads(file.read_bytes()))
]

#: What no recording holds, as earlier versions wrote it.
GPU = {
    "fused": "op0, op1, which share arg0_1 (op0, op1), buf0 (op0, op1); op4 alone",
    "not fused": "op0 with op2_op3: no shared data; op4 with op5: numel/rnumel mismatch (reduce) "
    "(512, 1), (1000, 512); op1 with op5: intermediate nodes between node1 & node2",
    "bytes moved": "1,024 + 8",
    "config": "XBLOCK=2, R0_BLOCK=64, num_warps=2, num_stages=1 (of 3 candidates, as timed)",
    "registers per thread": "32",
    "stack bytes": "0",
    "shared memory bytes": "1024",
    "spilled bytes": "16",
    "occupancy": "44% (28 of 64 warps), bounded by registers and shared memory",
    "instructions": "1,275",
    "grid_type": "Grid1D",
    "size_hints": "{'x': 64}",
    "original_aten": "aten.relu, aten.sum",
    "calls": "2",
    "call": "k.run(arg0_1, buf1, 64, stream=stream0)",
    "one of two": "pad=yes",
    "decided by": "timing on the GPU: addmm of [8, 64] @ [64, 10], m.py:3 (x @ w, y); "
    "mm of [8, 64] @ [64, 8], m.py:4 (z; w)",
}
FIRST = {
    "config": "BLOCK=4, ACC=tl.float32, num_warps=4, num_stages=3 (first of 2 candidates; the GPU "
    "would time them)"
}
CPP = {"fused": "op0 alone", "bytes moved": "20", "calls": "1", "call": "k(a)", "instructions": "9"}


def test_recordings_have_kernels_in_words() -> None:
    assert sum(bool(kernel["facts"]) for kernel in RECORDED) >= 9


@pytest.mark.parametrize("said", [*(k["facts"] for k in RECORDED), GPU, FIRST, CPP, {}])
def test_the_words_come_back_in_their_order(said: dict[str, str]) -> None:
    now = [("open" if name == "one of two" else name, value) for name, value in said.items()]
    assert list(words(facts(said)).items()) == now


def test_each_fact_is_a_value() -> None:
    known = facts(GPU)
    shared = {"arg0_1": ("op0", "op1"), "buf0": ("op0", "op1")}
    assert known.fused == (FusedGroup(("op0", "op1"), 1024, shared), FusedGroup(("op4",), 8))
    assert known.not_fused[0] == NotFused(("op0",), ("op2", "op3"), "no shared data")
    assert [len(each.first) for each in known.not_fused] == [1, 1, 1]
    assert known.configuration and known.resources and known.instructions == 1275
    assert known.configuration.config.settings == {
        "XBLOCK": 2, "R0_BLOCK": 64, "num_warps": 2, "num_stages": 1,
    }  # fmt: skip
    assert (known.configuration.candidates, known.configuration.timed) == (3, True)
    bounds = "registers", "shared memory"
    assert known.resources.occupancy == Occupancy(14, 28, 64, bounds)
    assert known.resources.spilled == 16 and known.calls == 2
    assert known.original_aten == ("aten.relu", "aten.sum")
    assert known.open == (
        padded("addmm of [8, 64] @ [64, 10]", "m.py:3 (x @ w, y)"),
        padded("mm of [8, 64] @ [64, 8]", "m.py:4 (z; w)"),
    )
    first = facts(FIRST).configuration
    assert first and not first.timed and first.config.constants[0] == ("BLOCK", 4)


def padded(operator: str, place: str) -> TimedAnswer:
    return TimedAnswer(TimedQuestion("pad", operator, place), "yes")


@pytest.mark.parametrize(
    ("title", "of"),
    [
        ("Triton kernel triton_poi_0, backward, one of two: with pad=yes", "backward"),
        ("Library call extern_kernels.mm, inference", "inference"),
        ("C++ kernel backward_0", ""),
    ],
)
def test_the_title_says_of_which_graph_a_kernel_is(title: str, of: str) -> None:
    assert direction(title) == of
