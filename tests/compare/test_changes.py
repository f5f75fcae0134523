"""One change planted at a time, and under which heading it is reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tclab.compare import compare_snapshots, planned_memory, triton_body
from tclab.compare.cpp_body import normalize_cpp as cpp_body
from tclab.model import (
    BreakIdentity,
    GraphCounts,
    KernelIdentity,
    RecompileIdentity,
    Snapshot,
)

SOURCE = """\
import triton

@triton_heuristics.persistent_reduction(
    size_hints={'x': 64, 'r0_': 64},
    reduction_hint=ReductionHint.INNER,
    triton_meta={'configs': [{(0,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]]}]},
    inductor_meta={'autotune_hints': set(), 'mutated_arg_names': [], 'backend_hash': '24393E'},
)
@triton.jit
def triton_per_fused_relu_sum_0(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr):
    x0 = tl.program_id(0)
    r0_1 = tl.arange(0, 64)
    tmp0 = tl.load(in_ptr0 + (r0_1 + 64*x0), None)
    tmp1 = tl.full([1, 1], 0, tl.int32)
    tmp2 = triton_helpers.maximum(tmp1, tmp0)
    tmp3 = tl.sum(tmp2, 1)
    tl.store(out_ptr0 + x0, tmp3, None)
"""


def kernel(source: str = SOURCE, **other: object) -> KernelIdentity:
    body, launch = triton_body.normalize_triton(source)
    made = KernelIdentity(
        operators=("aten.relu", "aten.sum"),
        category="persistent_reduction",
        direction="forward",
        language="python",
        text=str(hash(source)),
        body=body,
        launch=launch,
        configuration="XBLOCK=8, num_warps=2, num_stages=1",
        loads=1,
        stores=1,
        calls=1,
        bytes=16640,
        registers=24,
        spilled=0,
        shared=0,
    )
    return replace(made, **other)


BEFORE = Snapshot(
    "f",
    breaks=(BreakIdentity("GB0059", "m.py", "f", "print(x)"),),
    graphs=(GraphCounts("forward", {"aten.relu": 1, "aten.sum": 1}),),
    kernels=(kernel(),),
    library_calls={"extern_kernels.mm": 1},
    guards=10,
    planned_bytes=16640,
)
SPLIT = replace(BEFORE, kernels=(kernel(operators=("aten.relu",)), kernel(operators=("aten.sum",))))

PLANTED: dict[str, tuple[Snapshot, str, str]] = {
    "a fusion switched off": (SPLIT, "kernels", "persistent_reduction aten.sum"),
    "another block size": (
        replace(BEFORE, kernels=(kernel(configuration="XBLOCK=1, num_warps=2, num_stages=1"),)),
        *("kernels", "persistent_reduction aten.relu + aten.sum: configuration"),
    ),
    "a decomposition exchanged": (
        replace(BEFORE, graphs=(GraphCounts("forward", {"aten.clamp": 1, "aten.sum": 1}),)),
        *("graphs", "forward 0: aten.clamp"),
    ),
    "a break added": (
        replace(
            BEFORE, breaks=(*BEFORE.breaks, BreakIdentity("GB0170", "m.py", "f", "if x.sum():"))
        ),
        *("graph breaks", "GB0170 at if x.sum(): in m.py"),
    ),
    "a recompile added": (
        replace(BEFORE, recompiles=(RecompileIdentity("f", "m.py", ("L['n'] == 3",)),)),
        *("recompiles", "L['n'] == 3, in f of m.py"),
    ),
    "a guard added": (replace(BEFORE, guards=11), "guards", "guards"),
    "a guard in Python": (replace(BEFORE, python_guards=1), "guards", "guards in Python"),
    "a reduction split": (
        replace(BEFORE, kernels=(kernel(SOURCE.replace("tl.sum(tmp2, 1)", "tl.sum(tmp2, 0)")),)),
        *("kernels", "persistent_reduction aten.relu + aten.sum"),
    ),
    "a reduction in another precision": (
        replace(BEFORE, kernels=(kernel(SOURCE.replace("(tmp2, 1)", "(tmp2, 1).to(tl.float64)")),)),
        *("kernels", "persistent_reduction aten.relu + aten.sum"),
    ),
    "an extra copy": (
        replace(BEFORE, library_calls={"extern_kernels.mm": 1, "aten.copy_": 1}),
        *("library calls", "aten.copy_"),
    ),
    "an argument that no longer divides by sixteen": (
        replace(BEFORE, kernels=(kernel(SOURCE.replace("(2,): [['tt.divisibility', 16]]", "")),)),
        *("kernels", "persistent_reduction aten.relu + aten.sum: divisible by 16"),
    ),
    "registers spilled": (
        replace(BEFORE, kernels=(kernel(spilled=8),)),
        *("kernels", "persistent_reduction aten.relu + aten.sum: spilled"),
    ),
    "no CUDA graph": (
        replace(BEFORE, skipped_graphs=("mutated inputs",)),
        *("CUDA graphs", "mutated inputs"),
    ),
    "more memory planned": (replace(BEFORE, planned_bytes=33024), "memory", "planned bytes"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_change_is_reported_under_its_heading(planted):
    after, part, title = PLANTED[planted]
    compared = compare_snapshots(BEFORE, after)
    assert compared.first_part == part
    assert title in {change.title for change in compared.changes if change.part == part}
    assert not compare_snapshots(after, BEFORE).same


SAYS_NOTHING: dict[str, Callable[[str], str]] = {
    "a renamed buffer": lambda text: text.replace("in_ptr0", "in_ptr3"),
    "renamed values": lambda text: text.replace("tmp", "tmp1"),
    "a renamed index": lambda text: text.replace("r0_1", "r0_7").replace("x0", "x4"),
    "another number of the kernel": lambda text: text.replace("sum_0", "sum_12"),
    "another hash": lambda text: text.replace("24393E", "5F00AA"),
    "an empty tuple for an empty set": lambda text: text.replace("set()", "()"),
    "comments": lambda text: text.replace("    x0 =", "    # a comment\n    x0 ="),
    "the helper written out": lambda text: text.replace(
        "triton_helpers.maximum(tmp1, tmp0)", "tl.maximum(tmp1, tmp0, tl.PropagateNan.ALL)"
    ),
}


@pytest.mark.parametrize("change", SAYS_NOTHING)
def test_what_says_nothing_is_not_reported(change):
    changed = SAYS_NOTHING[change](SOURCE)
    assert changed != SOURCE
    compared = compare_snapshots(BEFORE, replace(BEFORE, kernels=(kernel(changed),)))
    assert compared.same, compared.changes
    assert compared.rewritings == (
        {"maximum and minimum without a helper": 1} if change == "the helper written out" else {}
    )


def test_a_break_less_is_better_and_a_break_more_is_worse():
    (change,) = compare_snapshots(BEFORE, replace(BEFORE, breaks=())).changes
    assert (change.worse, change.before, change.after) == (False, BEFORE.breaks[0], None)
    assert change.to_data() == {
        "part": "graph breaks", "title": "GB0059 at print(x) in m.py", "worse": False,
        "before": "GB0059 at print(x) in m.py", "after": "", "detail": "",
    }  # fmt: skip


def test_order_of_kernels_that_are_alike_does_not_matter():
    other = kernel(SOURCE.replace("64*x0", "32*x0"))
    both = replace(BEFORE, kernels=(kernel(), other))
    assert compare_snapshots(both, replace(BEFORE, kernels=(other, kernel()))).same


CPP = """\
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C" void cpp_fused_add_0(const float* in_ptr0, float* out_ptr0) // a comment
{
    auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];
    auto tmp1 = static_cast<float>(tmp0);
    out_ptr0[static_cast<int64_t>(x0)] = tmp1;
}
"""


def test_a_kernel_in_cpp_is_what_it_computes():
    renamed = CPP.replace("tmp", "tmp3").replace("in_ptr0", "in_ptr9").replace("add_0", "add_4")
    assert cpp_body(CPP) == cpp_body(renamed.replace("// a comment", ""))
    assert cpp_body(CPP) != cpp_body(CPP.replace("int64_t", "int32_t"))
    assert cpp_body(CPP) != cpp_body(CPP.replace("= tmp1", "= tmp0"))


WRAPPER = """\
def call(args):
    buf0 = empty_strided_cuda((64, 64), (64, 1), torch.float32)
    extern_kernels.mm(arg0, arg1, out=buf0)
    buf1 = buf0; del buf0  # reuse
    buf2 = empty_strided_cuda((64, ), (1, ), torch.bfloat16)
    del buf1
    buf3 = empty_strided_cuda((32, 32), (32, 1), torch.float32)
    return (buf2, buf3)
"""


def test_memory_is_what_buffers_take_at_once():
    assert planned_memory.peak_bytes(WRAPPER) == 64 * 64 * 4 + 64 * 2
    assert (
        planned_memory.peak_bytes(WRAPPER.replace("    del buf1\n", "")) == 64 * 64 * 4 + 128 + 4096
    )
    assert planned_memory.peak_bytes(WRAPPER.replace("(64, 64)", "(s0, 64)")) is None
    assert planned_memory.peak_bytes("#include <torch/torch.h>") == 0
