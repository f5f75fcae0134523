"""Inductor's IR, fusion log and output code, as five versions wrote them."""

from __future__ import annotations

import pytest

from tclab.capturing.read import graphs, units
from tclab.capturing.read.kernels import read_kernels
from tclab.capturing.read.output_code import OutputCode
from tclab.capturing.read.units import Unit
from tclab.capturing.trace.events import Trace
from tclab.model import Kernel, KernelFacts
from tests.samples.log import FILE
from tests.samples.replay import VERSIONS, replayed, since

each_version = pytest.mark.parametrize("version", VERSIONS)


def kernels(version: str, case: str) -> tuple[Kernel, ...]:
    with replayed(version, case) as trace:
        return tuple(kernel for unit in read(trace) for kernel in unit.kernels)


def read(trace: Trace) -> tuple[Unit, ...]:
    return units.read_units(trace, graphs.read_graphs(trace, "post_grad"))


def only_unit(trace: Trace) -> Unit:
    (unit,) = read(trace)
    return unit


# ------------------------------------------------------------------------------ units


@each_version
def test_each_graph_is_a_unit_with_its_direction_and_nodes(version):
    with replayed(version, "training") as trace:
        forward, backward = read(trace)
    assert (forward.compile_id, forward.direction, backward.direction) == (
        "0/0", "forward", "backward",
    )  # fmt: skip
    assert forward.output.kernel_nodes == {
        "cpp_fused_add_mul_relu_sum_threshold_backward_0:1": ("sum_1", "mul", "relu", "add", "le")
    }
    assert backward.output.kernel_nodes == {
        "cpp_fused_expand_mul_threshold_backward_0:1": ("where", "full_default", "mul_1", "expand")
    }


@each_version
def test_output_code_counts_graphs_from_0_and_names_no_cache_file(version):
    with replayed(version, "product") as trace:
        (said,) = (e.payload for e in trace.select("inductor_output_code"))
        unit = only_unit(trace)
    assert "# kernel path: <inductor-cache>/" in said
    assert "# kernel path:" not in unit.output.text
    assert unit.output.text.startswith("# AOT ID: ['0_inference']\n")
    assert not said.startswith("# AOT ID: ['0_inference']\n")  # the process made others before


@each_version
def test_ir_before_and_after_fusion(version):
    with replayed(version, "product") as trace:
        unit = only_unit(trace)
    before, after = unit.ir_pre_fusion, unit.ir
    assert (before.title, before.name) == ("Inductor IR before fusion, inference",
                                           "ir-pre-fusion-forward")  # fmt: skip
    assert (after.title, after.name) == ("Inductor IR after fusion, inference", "ir-forward")
    assert "op1.writes = [MemoryDep('buf1', d0, {d0: 64})]" in before.code.splitlines()
    assert "op1.writes = [MemoryDep('buf1', c0, {c0: 64})]" in after.code.splitlines()
    assert before.code.startswith("op0: ExternKernelSchedulerNode(ExternKernelOut)\nop0.writes = ")
    (reduction,) = (x for x in after.code.splitlines() if "ops.reduction(" in x)
    assert reduction == (
        "        reduction = ops.reduction(torch.float32, torch.float32, 'sum', relu)"
    )
    distances = [x for x in after.code.splitlines() if "_input_distance = " in x]
    assert len(distances) == since({"2.11": 0, "2.12": 4}, version)


@each_version
def test_the_fusion_log(version):
    with replayed(version, "product") as trace:
        listing = units.list_fusion_decisions(read(trace))
    lines = [line for line in listing.code.splitlines() if "SchedulerNode" not in line]
    round_ = ["fuse_nodes_once, candidates:", "found 0 possible fusions"]
    assert lines == [
        "# graph 0, inference",
        "===== attempting fusion (1/10): 2 nodes =====",
        *round_,
        "completed fusion round (1/10): fused 2 nodes into 2 nodes",
        "",
        "===== fusion complete (1 iterations) =====",
        *round_,
    ]


# ------------------------------------------------------------------------------ kernels


@each_version
def test_cpp_kernels(version):
    forward, backward = kernels(version, "training")
    assert [k.kernel_name for k in (forward, backward)] == [
        "cpp_fused_add_mul_relu_sum_threshold_backward_0",
        "cpp_fused_expand_mul_threshold_backward_0",
    ]
    assert {(k.language, k.stage, k.category, k.device) for k in (forward, backward)} == {
        ("cpp", "cpp", "", "cpu")
    }
    assert forward.origins == ("aten.add", "aten.relu", "aten.mul", "aten.sum", "aten.le")
    assert backward.origins == ("aten.expand", "aten.mul", "aten.full", "aten.where")
    call = f"{forward.kernel_name}(primals_1, buf0, buf1)"
    assert forward.facts == KernelFacts(calls=1, first_call=call, operations=0)
    assert [(s.file, s.line) for s in forward.source_lines] == [(FILE, 9)]
    assert forward.code.startswith("#include <torch/csrc/inductor/cpp_prefix.h>\n")


@each_version
def test_a_triton_kernel_and_a_library_call(version):
    library, triton = kernels(version, "product")
    assert (library.kernel_name, library.category, library.device) == (
        "extern_kernels.mm", "extern", "cuda",
    )  # fmt: skip
    assert library.code == "extern_kernels.mm(arg0_1, arg1_1, out=buf0)\n"
    assert library.origins == ("aten.mm",)
    assert (triton.kernel_name, triton.category, triton.device, triton.language) == (
        "triton_per_fused_relu_sum_0", "persistent_reduction", "cuda", "python",
    )  # fmt: skip
    stream = since({"2.11": "stream0", "2.12": "raw_stream0"}, version)
    written = {
        "grid_type": "Grid1D",
        "num_load": "1",
        "num_store": "1",
        "num_reduction": "1",
        "reduction_hint": "INNER",
        "size_hints": "{'x': 64, 'r0_': 64}",
    }
    assert triton.facts == KernelFacts(
        operations=0,
        written=written,
        original_aten=("aten.relu", "aten.sum"),
        calls=1,
        first_call=f"triton_per_fused_relu_sum_0.run(buf0, buf1, 64, 64, stream={stream})",
    )


@each_version
def test_without_a_record_the_comment_names_the_nodes(version):
    with replayed(version, "product") as trace:
        unit = only_unit(trace)
        (graph,) = graphs.read_graphs(trace, "post_grad")
    library, triton = read_kernels(OutputCode.parse(unit.output.text, {}, graph))
    assert (library.origins, triton.origins) == ((), ("aten.relu", "aten.sum"))


@each_version
def test_output_code_that_is_cpp_has_no_kernels_to_show(version):
    with replayed(version, "cpp_wrapper") as trace:
        unit = only_unit(trace)
    wrapper = unit.wrapper
    assert unit.kernels == ()
    assert 'extern "C"  void  cpp_fused_add_mul_relu_sum_0(const float* in_ptr0' in wrapper.code
    assert (wrapper.title, wrapper.links) == ("Output code", {})


@each_version
def test_lines_of_the_output_code_lead_to_nodes(version):
    with replayed(version, "product") as trace:
        wrapper = only_unit(trace).wrapper
    assert (wrapper.title, wrapper.name) == ("Output code, inference", "wrapper-forward")
    assert "Provenance debug handles" not in wrapper.code
    code = wrapper.code.splitlines()
    linked = {code[n - 1].strip().partition("(")[0]: keys for n, keys in wrapper.links.items()}
    reduction = (f"py:{FILE}:17", "fx:post_grad:0:relu", "fx:post_grad:0:sum_1")
    assert linked == {
        "triton_per_fused_relu_sum_0 = async_compile.triton": reduction,
        "triton_per_fused_relu_sum_0.run": reduction,
        "extern_kernels.mm": (f"py:{FILE}:17", "fx:post_grad:0:mm"),
    }
