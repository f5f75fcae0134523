"""FX graphs as five versions printed them, at every stage."""

from __future__ import annotations

import pytest

from tclab.capturing.chain.graphs import graph_pane
from tclab.capturing.chain.resolve import Origins
from tclab.capturing.read.graphs import read_graphs
from tclab.model import Graph, Node
from tests.samples.log import FILE
from tests.samples.replay import VERSIONS, records, replayed

each_version = pytest.mark.parametrize("version", VERSIONS)


def shown(node: Node) -> str:
    """``mul = torch.ops.aten.mul.Tensor(relu, 2) f32[8] cpu @9``; of inputs, no arguments."""
    call = node.target if node.op in {"placeholder", "output"} else f"{node.target}({node.args})"
    size = "" if node.shape is None else f"[{', '.join(node.shape)}]"
    value = f" {node.dtype}{size} {node.device}".rstrip() if node.dtype else ""
    line = f" @{node.source.line}" if node.source else ""
    return f"{node.name} = {call}{value}{line}"


def read(version: str, case: str, stage: str) -> tuple[Graph, ...]:
    with replayed(version, case) as trace:
        return read_graphs(trace, stage)


TRAINING = {
    "dynamo": """
        l_x_ = L_x_ f32[8] cpu
        add = operator.add(l_x_, 1) f32[8] cpu @9
        relu = torch.relu(add) f32[8] cpu @9
        mul = operator.mul(relu, 2) f32[8] cpu @9
        sum_1 = sum(mul) f32[] cpu @9
        output = output""",
    "joint": """
        primals_1 = primals_1 f32[8] cpu
        tangents_1 = tangents_1 f32[] cpu
        add = torch.ops.aten.add.Tensor(primals_1, 1) f32[8] cpu @9
        relu = torch.ops.aten.relu.default(add) f32[8] cpu @9
        alias = torch.ops.aten.alias.default(relu) f32[8] cpu @9
        mul = torch.ops.aten.mul.Tensor(relu, 2) f32[8] cpu @9
        sum_1 = torch.ops.aten.sum.default(mul) f32[] cpu @9
        expand = torch.ops.aten.expand.default(tangents_1, [8]) f32[8] cpu @9
        mul_1 = torch.ops.aten.mul.Tensor(expand, 2) f32[8] cpu @9
        alias_1 = torch.ops.aten.alias.default(alias) f32[8] cpu @9
        le = torch.ops.aten.le.Scalar(alias_1, 0) b8[8] cpu @9
        scalar_tensor = torch.ops.aten.scalar_tensor.default(0, dtype=torch.float32, \
layout=torch.strided, device=device(type='cpu')) f32[] cpu @9
        where = torch.ops.aten.where.self(le, scalar_tensor, mul_1) f32[8] cpu @9
        output = output""",
    "forward": """
        primals_1 = primals_1 f32[8] cpu
        add = torch.ops.aten.add.Tensor(primals_1, 1) f32[8] cpu @9
        relu = torch.ops.aten.relu.default(add) f32[8] cpu @9
        mul = torch.ops.aten.mul.Tensor(relu, 2) f32[8] cpu @9
        sum_1 = torch.ops.aten.sum.default(mul) f32[] cpu @9
        le = torch.ops.aten.le.Scalar(relu, 0) b8[8] cpu @9
        output = output""",
    "backward": """
        le = le b8[8] cpu
        tangents_1 = tangents_1 f32[] cpu
        expand = torch.ops.aten.expand.default(tangents_1, [8]) f32[8] cpu @9
        mul_1 = torch.ops.aten.mul.Tensor(expand, 2) f32[8] cpu @9
        full_default = torch.ops.aten.full.default([], 0.0, dtype=torch.float32, \
layout=torch.strided, device=device(type='cpu'), pin_memory=False) f32[] cpu @9
        where = torch.ops.aten.where.self(le, full_default, mul_1) f32[8] cpu @9
        output = output""",
}


@each_version
@pytest.mark.parametrize("stage", TRAINING)
def test_nodes_of_a_training_step(version, stage):
    (graph,) = read(version, "training", stage)
    assert [shown(n) for n in graph.nodes] == _lines(TRAINING[stage])


@each_version
def test_graphs_before_and_after_a_pass_that_changes_nothing_have_the_same_nodes(version):
    same = {"pre_grad": "dynamo", "post_grad": "forward"}
    for later, earlier in same.items():
        graph = read(version, "training", later)[0]
        assert [shown(n) for n in graph.nodes] == _lines(TRAINING[earlier])
    assert [shown(n) for n in read(version, "training", "post_grad")[1].nodes] == (
        _lines(TRAINING["backward"])
    )


@each_version
def test_an_inference_graph_on_a_gpu(version):
    (graph,) = read(version, "product", "forward")
    assert "class <lambda>(torch.nn.Module):" in graph.code
    assert [shown(n) for n in graph.nodes] == _lines("""
        arg0_1 = arg0_1 f32[64, 16] cuda:0
        arg1_1 = arg1_1 f32[16, 64] cuda:0
        mm = torch.ops.aten.mm.default(arg0_1, arg1_1) f32[64, 64] cuda:0 @17
        relu = torch.ops.aten.relu.default(mm) f32[64, 64] cuda:0 @17
        sum_1 = torch.ops.aten.sum.dim_IntList(relu, [-1]) f32[64] cuda:0 @17
        output = output""")


@each_version
def test_symbolic_sizes(version):
    assert [shown(n) for n in read(version, "recompile", "dynamo")[1].nodes] == _lines("""
        s77 = s77 Sym(s77)
        l_x_ = L_x_ f32[s77, 4] cpu
        x = operator.pow(l_x_, 2) f32[s77, 4] cpu @34
        x_1 = operator.mul(x, 2) f32[s77, 4] cpu @35
        add = operator.add(x_1, 3) f32[s77, 4] cpu @36
        output = output""")


@each_version
def test_nodes_without_a_line_of_the_users_have_none(version):
    (graph, _) = read(version, "breaks", "dynamo")
    assert [shown(n) for n in graph.nodes] == _lines("""
        l_x_ = L_x_ f32[3] cpu
        _set_grad_enabled = torch._C._set_grad_enabled(False)
        x = operator.add(l_x_, 1) f32[3] cpu @46
        _set_grad_enabled_1 = torch._C._set_grad_enabled(True)
        output = output""")


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@each_version
def test_what_names_a_place_in_memory_is_not_shown(version):
    printed = [r.payload for r in records(version, "training") if "graph id:" in r.payload]
    (graph,) = read(version, "training", "pre_grad")
    assert len(printed) == 1
    assert "graph id" not in graph.code
    assert graph.code == read(version, "training", "dynamo")[0].code


@each_version
@pytest.mark.parametrize("stage", TRAINING)
def test_each_node_has_the_line_that_gives_it_its_name(version, stage):
    (graph,) = read(version, "training", stage)
    code = [line.strip() for line in graph.code.splitlines()]
    lines = {key: code[n - 1] for n, keys in graph.links.items() for key in keys}
    for node in graph.nodes:
        start = {"output": "return ", "l_x_": "l_x_ = L_x_"}.get(node.name, f"{node.name}: ")
        assert lines[f"fx:{stage}:0:{node.name}"].startswith(start)


@each_version
def test_lines_lead_to_the_users_line(version):
    (graph,) = read(version, "training", "backward")
    own = {n for n, keys in graph.links.items() if f"py:{FILE}:9" in keys}
    code = graph.code.splitlines()
    assert {code[n - 1].split(":")[0].strip() for n in own} == {
        *("expand", "mul_1", "full_default", "where")
    }


@each_version
def test_marks_of_a_graph_as_a_pane(version):
    with replayed(version, "training") as trace:
        (graph,) = read_graphs(trace, "forward")
        pane = graph_pane(graph, 0, Origins.read(trace))
    marked = {code: keys for number, keys in pane.marks.items()
              for code in [graph.code.splitlines()[number - 1].strip().split(" ")[0]]}  # fmt: skip
    assert marked == {
        **{f"{n}:": (f"fx:forward:0:{n}",) for n in
           ("primals_1", "add", "relu", "mul", "sum_1", "le")},
        "return": ("fx:forward:0:output",),
    }  # fmt: skip
