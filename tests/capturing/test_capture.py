"""Every stage of one training step is there, linked and free of this machine."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
import torch

import tclab
from tclab.errors import CaptureError
from tclab.model import Artifact, decode, encode

STAGES = ("graphs", "guards", "bytecode", "pre_grad", "joint", "forward", "backward", "post_grad",
          "ir_pre_fusion", "ir", "kernels", "wrapper")  # fmt: skip
SINGLE = ("breaks", "recompiles", "symbols", "fusion", "times", "overview")


def everything(c: tclab.Capture) -> list[Artifact]:
    several = [a for stage in STAGES for a in getattr(c, stage)]
    return several + [getattr(c, name) for name in SINGLE]


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_is_there(training, stage):
    assert getattr(training, stage)


def test_counts_of_one_graph_forward_and_backward(training):
    counts = {stage: len(getattr(training, stage)) for stage in STAGES if stage != "kernels"}
    both = dict.fromkeys(("bytecode", "post_grad", "ir_pre_fusion", "ir", "wrapper"), 2)
    assert counts == dict.fromkeys(counts, 1) | both
    assert (len(training.breaks), training.breaks.graphs) == (0, 1)


def test_names_are_unique_slugs_and_titles_are_set(training):
    artifacts = everything(training)
    names = [a.name for a in artifacts]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names), names
    assert all(a.title for a in artifacts)


def test_names_are_those_pages_rely_on(training):
    assert training.graphs[0].name == "graph-0"
    assert training.forward[0].name == "forward"
    assert training.backward[0].name == "backward"
    assert training.bytecode[0].name == "original-bytecode"
    assert training.bytecode[1].name == "rewritten-bytecode"


def test_every_artifact_can_be_stored(training):
    for artifact in everything(training):
        assert decode(encode(artifact)) == artifact


def test_nothing_of_this_machine_or_process_is_left(training):
    for artifact in everything(training):
        text = str([getattr(artifact, f.name) for f in fields(artifact)])
        assert not re.search(r"/(tmp|home|root|usr)/", text), artifact.name
        assert not re.search(r"0x[0-9a-f]{9,}|torchinductor_\w", text), artifact.name
        assert "Guard latency" not in text


def test_a_second_capture_says_the_same():
    def f(x):
        y = x * 2
        print("between")
        return y.relu()

    first, second = (tclab.capture(f)(torch.ones(6)) for _ in range(2))
    for one, other in zip(everything(first), everything(second), strict=True):
        if one.name != "times":
            assert encode(one) == encode(other)


def test_forward_nodes_have_shape_dtype_device_and_line(training, lines):
    relu = next(n for n in training.forward[0].nodes if n.target == "torch.ops.aten.relu.default")
    assert (relu.shape, relu.dtype, relu.device) == (("8", "8"), "f32", "cpu")
    assert relu.source is not None
    assert relu.source.line == lines["relu"]
    assert relu.keys == (f"py:{relu.source}", f"fx:forward:0:{relu.name}")


def test_a_graph_line_and_its_node_share_their_keys(training):
    for graph in (*training.graphs, *training.joint, *training.backward, *training.post_grad):
        linked = {key for keys in graph.links.values() for key in keys}
        assert graph.nodes
        assert all(set(node.keys) <= linked for node in graph.nodes if node.op != "placeholder")


def test_kernels_know_their_operators_and_lines(training, lines):
    kernel = next(k for k in training.kernels if k.category != "extern")
    assert kernel.language == "cpp"
    assert "kernel(" in kernel.code
    assert {"aten.relu", "aten.exp"} <= set(kernel.origins)
    assert {s.line for s in kernel.source_lines} == set(lines.values())


def test_library_calls_are_kernels_too(training):
    products = [k for k in training.kernels if k.kernel_name == "extern_kernels.mm"]
    assert [k.category for k in products] == ["extern", "extern"]  # forward and backward
    assert products[0].origins == ("aten.mm",)
    assert products[0].code.startswith("extern_kernels.mm(")


def test_wrapper_lines_link_to_post_grad_nodes(training):
    wrapper = training.wrapper[0]
    assert "Provenance" not in wrapper.code
    calls = {wrapper.code.splitlines()[n - 1].strip(): k for n, k in wrapper.links.items()}
    product = next(keys for call, keys in calls.items() if call.startswith("extern_kernels.mm"))
    assert "fx:post_grad:0:mm" in product


def test_fusion_says_what_was_fused(training):
    assert re.search(r"fusing op\d+\w* with op\d+", training.fusion.code)


def test_ir_is_fused_after_and_not_before(training):
    assert "FusedSchedulerNode" not in training.ir_pre_fusion[0].code
    assert "FusedSchedulerNode" in training.ir[0].code


def test_bytecode_lines_link_to_python(training, lines):
    original = training.bytecode[0]
    linked = {key.rpartition(":")[2] for keys in original.links.values() for key in keys}
    assert {str(line) for line in lines.values()} <= linked
    assert "__compiled_fn_1" in training.bytecode[1].code


def test_phases_add_up_to_the_total(training):
    *phases, total = training.times.rows
    assert total[0] == "Total"
    assert sum(row[2] for row in phases) == pytest.approx(total[2])
    assert {"AOTAutograd", "Inductor: code generation"} <= {row[0] for row in phases}


def test_results_are_what_eager_gives():
    def f(x):
        return torch.relu(x) + 1

    x = torch.randn(4)
    c = tclab.capture(f, backend="eager").over([(x,), (x * 2,)])
    torch.testing.assert_close(c.results, (f(x), f(x * 2)))
    torch.testing.assert_close(c.result, f(x * 2))


def test_watching_sees_what_the_block_compiles():
    def f(x):
        return x.sin() + 1

    with tclab.capture() as c:
        torch.compile(f, backend="aot_eager")(torch.ones(3))
    assert [n.target for n in c.graphs[0].nodes] == ["L_x_", "sin", "operator.add", "output"]
    assert len(c.forward) == 1
    with pytest.raises(CaptureError, match="no call was made"):
        _ = c.result


def test_watching_cannot_be_read_before_it_ends():
    with tclab.capture() as c, pytest.raises(CaptureError, match="still running"):
        _ = c.graphs


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tclab.capture(3), "int is not callable"),
        (lambda: tclab.capture(torch.compile(lambda x: x)), "already applied"),
        (lambda: tclab.capture(torch.compile(torch.nn.Linear(2, 2))), "already applied"),
        (lambda: tclab.capture(mode="default"), "options without a function"),
    ],
)
def test_what_cannot_be_captured_is_refused(make, message):
    with pytest.raises(CaptureError, match=message):
        make()


def test_backward_without_gradients_is_refused():
    with pytest.raises(CaptureError, match="requires grad"):
        tclab.capture(lambda x: x + 1, backward=True, backend="eager")(torch.ones(2))


def test_logs_that_were_off_stay_silent(capfd):
    tclab.capture(lambda x: x.exp() + 2)(torch.ones(4))
    out, err = capfd.readouterr()
    assert "BEFORE FUSION" not in out + err
