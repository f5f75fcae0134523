"""Lines of IR and kernels, and of everything below a kernel, linked as five versions wrote them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tclab.capturing.chain import facts, inductor
from tclab.capturing.chain.machine import machine_panes
from tclab.capturing.chain.resolve import Origins
from tclab.capturing.machine_code import triton
from tclab.capturing.read.graphs import read_graphs
from tclab.capturing.read.units import CompiledKernel, Unit, read_units
from tclab.capturing.trace.events import Trace
from tclab.model import Config, Configuration, FusedGroup, Listing
from tests.samples.replay import VERSIONS, replayed, since, text

each_version = pytest.mark.parametrize("version", VERSIONS)


def replayed_units(trace: Trace) -> tuple[Unit, ...]:
    return read_units(trace, read_graphs(trace, "post_grad"))


def linked(pane: Listing) -> list[tuple[str, tuple[str, ...]]]:
    """Each line of a pane that has links, and these."""
    code = pane.code.splitlines()
    return [(code[n - 1].strip(), keys) for n, keys in sorted(pane.links.items())]


# ------------------------------------------------------------------------------ IR, kernels


@each_version
def test_values_of_the_ir_are_marked(version):
    with replayed(version, "product") as trace:
        (unit,) = replayed_units(trace)
        pane = inductor.ir_pane(unit.ir, unit, Origins.read(trace))
    code = pane.code.splitlines()
    assert [(code[n - 1].strip(), *keys) for n, keys in sorted(pane.marks.items())] == [
        ("op0: ExternKernelSchedulerNode(ExternKernelOut)", "ir:0:op0"),
        ("op1: SchedulerNode(ComputedBuffer)", "ir:0:op1"),
        ("class op1_loop_body:", "ir:0:op1"),
        ("get_index = self.get_index('index0')", "ir:0:op1:get_index"),
        ("load = ops.load('buf0', get_index)", "ir:0:op1:load"),
        ("relu = ops.relu(load)", "ir:0:op1:relu"),
        (
            "reduction = ops.reduction(torch.float32, torch.float32, 'sum', relu)",
            "ir:0:op1:reduction",
        ),
        ("get_index_1 = self.get_index('index1')", "ir:0:op1:get_index_1"),
        (
            "store_reduction = ops.store_reduction('buf1', get_index_1, reduction)",
            "ir:0:op1:store_reduction",
        ),
    ]


MAXIMUM = {
    "2.11": "tmp2 = triton_helpers.maximum(tmp1, tmp0)",
    "2.14": "tmp2 = tl.maximum(tmp1, tmp0, tl.PropagateNan.ALL)",
}
POLICY = {"2.11": "", "2.13": " eviction_policy='evict_first',"}  # written in after it was noted


@each_version
def test_lines_of_a_triton_kernel_are_found_among_those_that_were_written(version):
    with replayed(version, "product") as trace:
        (unit,) = replayed_units(trace)
        pane = inductor.kernel_pane(unit.kernels[1], unit, 1, Origins.read(trace))
    assert linked(pane) == [
        (
            f"tmp0 = tl.load(in_ptr0 + (r0_1 + 64*x0), xmask,{since(POLICY, version)} other=0.0)",
            ("ir:0:op1:load",),
        ),
        ("tmp1 = tl.full([1, 1], 0, tl.int32)", ("ir:0:op1:relu",)),
        (since(MAXIMUM, version), ("ir:0:op1:relu",)),
        ("tmp3 = tl.broadcast_to(tmp2, [XBLOCK, R0_BLOCK])", ("ir:0:op1:reduction",)),
        ("tmp5 = tl.where(xmask, tmp3, 0)", ("ir:0:op1:reduction",)),
        ("tmp6 = tl.sum(tmp5, 1)[:, None].to(tl.float32)", ("ir:0:op1:reduction",)),
        ("tl.store(out_ptr0 + (x0), tmp6, xmask)", ("ir:0:op1:store_reduction",)),
    ]


@each_version
def test_facts_of_a_kernel(version):
    with replayed(version, "product") as trace:
        (unit,) = replayed_units(trace)
    _, kernel = unit.kernels
    alone = FusedGroup(("op1",), 16640)  # 64 x 64 and 64 numbers of 4 bytes
    assert facts.collect_facts(kernel, unit) == replace(kernel.facts, fused=(alone,))


VECTOR = """
    auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x0), \
static_cast<int64_t>(8L));
    auto tmp1 = static_cast<float>(1.0);
    auto tmp2 = at::vec::Vectorized<float>(tmp1);
    auto tmp3 = tmp0 + tmp2;
    auto tmp4 = at::vec::clamp_min(tmp3, decltype(tmp3)(0));"""
FORWARD = [
    VECTOR
    + """
    auto tmp5 = static_cast<float>(2.0);
    auto tmp6 = at::vec::Vectorized<float>(tmp5);
    auto tmp7 = tmp4 * tmp6;
    tmp_acc0_vec = sum_masked_reduce(tmp_acc0_vec, tmp7, static_cast<int64_t>(8L));""",
    """
    tmp_acc0 = tmp_acc0 + at::vec::vec_reduce_all<float, 1>([](at::vec::Vectorized<float>& x, \
at::vec::Vectorized<float>& y) { return x + y; }, tmp_acc0_vec);
    out_ptr0[static_cast<int64_t>(0L)] = static_cast<float>(tmp_acc0);""",
    VECTOR
    + """
    auto tmp5 = static_cast<float>(0.0);
    auto tmp6 = at::vec::Vectorized<float>(tmp5);
    auto tmp7 = at::vec::VecMask<float,1>(tmp4 <= tmp6);
    tmp7.store(out_ptr1 + static_cast<int64_t>(x0), static_cast<int64_t>(8L));""",
]
BACKWARD = {
    "2.11": """
    auto tmp0 = at::vec::VecMask<float,1>::from(in_ptr0 + static_cast<int64_t>(x0), \
static_cast<int64_t>(8L));
    auto tmp1 = in_ptr1[static_cast<int64_t>(0L)];
    auto tmp2 = static_cast<float>(2.0);
    auto tmp3 = float(tmp1 * tmp2);
    auto tmp4 = static_cast<float>(0.0);
    auto tmp5 = at::vec::Vectorized<float>(tmp4);
    auto tmp6 = at::vec::Vectorized<float>(tmp3);
    auto tmp7 = decltype(tmp5)::blendv(tmp6, tmp5, tmp0.template cast<float,1>());
    tmp7.store(out_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(8L));""",
    "2.13": """
    auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];
    auto tmp1 = in_ptr1[static_cast<int64_t>(0L)];
    auto tmp2 = static_cast<float>(2.0);
    auto tmp3 = float(tmp1 * tmp2);
    auto tmp4 = static_cast<float>(0.0);
    auto tmp5 = tmp0 ? tmp4 : tmp3;
    out_ptr0[static_cast<int64_t>(x0)] = tmp5;""",
}


@each_version
def test_computing_lines_of_cpp_kernels(version):
    """Loops, masks and the accumulators' declarations are not; a tail's variable is the loop's."""
    with replayed(version, "training") as trace:
        (forward,), (backward,) = (unit.kernels for unit in replayed_units(trace))
    runs = [
        list(run.values()) for run in inductor._computing_runs(forward.code.splitlines(), "cpp")
    ]
    assert runs == [_lines(run) for run in FORWARD]
    assert "float tmp_acc0 = 0;" in forward.code
    (run,) = inductor._computing_runs(backward.code.splitlines(), "cpp")
    assert list(run.values()) == _lines(since(BACKWARD, version))
    assert ("x0_tail" in backward.code) == since({"2.11": False, "2.13": True}, version)


@each_version
def test_names_that_lines_of_cpp_give_values(version):
    with replayed(version, "training") as trace:
        (forward,) = replayed_units(trace)[0].kernels
    first, last, _ = inductor._computing_runs(forward.code.splitlines(), "cpp")
    names = [
        name for line in (*first.values(), *last.values()) for name in inductor.assigned_names(line)
    ]
    assert names == [*(f"tmp{i}" for i in range(8)), "tmp_acc0_vec", "tmp_acc0"]


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


# ------------------------------------------------------------------------------ below a kernel

#: What stands in a line of a stage, and what then stands in the line of the kernel it leads to.
TELLING = {
    "ttir": {
        "tt.get_program_id": "tl.program_id(0)",
        "tt.make_range": "tl.arange(0, R0_BLOCK)",
        "tt.load": "tl.load(",
        '"tt.reduce"': "tl.sum(",
        "tt.store": "tl.store(",
    },
    "llir": {
        "nvvm.read.ptx.sreg.ctaid": "tl.program_id(0)",
        "ld.global": "tl.load(",
        "nvvm.shfl.sync.bfly": "tl.sum(",
        "st.global.b32": "tl.store(",
    },
    "ptx": {
        "%ctaid.x": "tl.program_id(0)",
        "%tid.x": "tl.arange(0, R0_BLOCK)",
        "ld.global": "tl.load(",
        "shfl.sync.bfly": "tl.sum(",
        "bar.sync": "tl.sum(",
        "st.global": "tl.store(",
    },
    "sass": {
        "SR_CTAID.X": "tl.program_id(0)",
        "SR_TID.X": "tl.arange(0, R0_BLOCK)",
        " LDG": "tl.load(",
        "SHFL.BFLY": "tl.sum(",
        "BAR.SYNC": "tl.sum(",
        "STG.E": "tl.store(",
    },
}
TELLING["ttgir"] = TELLING["ttir"]


CONFIGURATION = Configuration(Config((("XBLOCK", 1),), num_warps=2, num_stages=1))


def panes(version: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, Listing]]:
    """The kernel's source, and the panes below it."""
    monkeypatch.setattr(triton, "_run_tool", lambda *_, cubin: text(version, "product.sass"))
    with replayed(version, "product") as trace:
        (unit,) = replayed_units(trace)
    (source,) = unit.output.triton_sources().values()
    sass, ptx_lines = triton.disassemble(b"")
    codes = {stage: text(version, f"product.{stage}") for stage in ("ttir", "ttgir", "llir")}
    codes |= {"ptx": triton._strip_paths(text(version, "product.ptx")), "sass": sass}
    stages = {stage: triton._stage_listing("kernel", stage, code) for stage, code in codes.items()}
    compiled = CompiledKernel("kernel", source, CONFIGURATION, stages, ptx_lines=ptx_lines)
    found = machine_panes(compiled, 0, 1)
    return source.strip("\n"), {pane.stage: pane for pane in found}


@each_version
def test_lines_below_a_kernel_lead_to_what_they_are_made_from(version, monkeypatch):
    source, found = panes(version, monkeypatch)
    kernel = source.splitlines()
    assert list(found) == ["ttir", "ttgir", "llir", "ptx", "sass"]
    for stage, telling in TELLING.items():
        for here, there in telling.items():
            lines = [keys for line, keys in linked(found[stage]) if here in line]
            assert lines, (stage, here)
            for keys in lines:
                own = [int(key.rpartition(":")[2]) for key in keys if key.startswith("kernel:")]
                assert [there in kernel[n - 1] for n in own] == [True], (stage, here, keys)


@each_version
def test_all_of_inline_assembly_is_from_the_line_it_is_for(version, monkeypatch):
    source, found = panes(version, monkeypatch)
    policies = [keys for line, keys in linked(found["ptx"]) if line.startswith("createpolicy")]
    assert len(policies) == since({"2.11": 0, "2.13": 1}, version)
    for kernel, *_ in policies:
        assert "tl.load(" in source.splitlines()[int(kernel.rpartition(":")[2]) - 1]


@each_version
def test_every_link_leads_to_a_mark_of_the_stage_before(version, monkeypatch):
    _, found = panes(version, monkeypatch)
    before = {"ttgir": "ttir", "llir": "ttgir", "ptx": "llir", "sass": "ptx"}
    for stage, earlier in before.items():
        marks = {key for keys in found[earlier].marks.values() for key in keys}
        keys = [k for _, links in linked(found[stage]) for k in links if k.startswith(earlier)]
        assert keys
        assert {key for key in keys if key not in marks} <= BRACE


#: The brace a kernel's PTX begins with: no instruction, yet the first ones of SASS are from it.
BRACE = {"ptx:0.1:line 21"}
