"""Graphs read from text are held against the GraphModules the text was printed from."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd

from tclab.capturing import graph_from_module
from tclab.capturing.read.graphs import graph_from_text


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x):
        return torch.nn.functional.layer_norm(self.linear(x) * self.scale, (4,)).relu()


def arithmetic(x, y):
    z = -x + y * 2 - (x / y) ** 2
    w = (z > 0) & (x <= y) | ~(z == y)
    return torch.where(w, z @ y.T, x.detach() // 2 % 3)


def in_place(x, y):
    z = x.clone()
    z += y
    z *= 2
    z[0] = 1.0
    return z.add_(y)


def views(x, y):
    a, b = torch.split(x, 2, dim=1)
    c = torch.cat([a, b.contiguous()], dim=-1)[:, None, ::2]
    return c.shape[0] * c.permute(0, 2, 1), torch.var_mean(y, dim=0, keepdim=True)


def under_no_grad(x, y):
    with torch.no_grad():
        z = x.exp()
    return z * y.to(torch.bfloat16)


def conditional(x, y):
    return torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (y,))


def an_output(x, y):
    output = x.sin() * y
    return output.cos()


def several_outputs(x, y):
    output = x.sin()
    output_1 = output * y
    return output_1.cos() + output


CASES = [Net(), arithmetic, in_place, views, under_no_grad, conditional, an_output, several_outputs]


def compiled_graphs(fn, dynamic=False) -> list[tuple[str, torch.fx.GraphModule, str]]:
    """Stage, GraphModule and text of Dynamo's and AOTAutograd's graphs of one training step."""
    found = []

    def keep(stage, gm):
        text = gm.print_readable(
            print_output=False, include_stride=True, include_device=True, expanded_def=True
        )
        found.append((stage, gm, text))

    def compiler(stage):
        def compile_(gm, _):
            keep(stage, gm)
            return gm.forward

        return compile_

    aot = aot_autograd(fw_compiler=compiler("forward"), bw_compiler=compiler("backward"))

    def backend(gm, inputs):
        keep("dynamo", gm)
        return aot(gm, inputs)

    inputs = [torch.randn(4, 4, requires_grad=True) for _ in range(2)]
    torch._dynamo.reset()  # this test compiles the same lambdas again and again
    out = torch.compile(fn, backend=backend, dynamic=dynamic, fullgraph=True)(
        *inputs[: 1 if isinstance(fn, Net) else 2]
    )
    out = out if isinstance(out, torch.Tensor) else out[0]
    out.sum().backward()
    return found


def name_of(fn) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("fn", CASES, ids=name_of)
def test_text_gives_the_nodes_of_the_module(fn, dynamic):
    graphs = compiled_graphs(fn, dynamic)
    assert [stage for stage, _, _ in graphs] == ["dynamo", "forward", "backward"]
    for stage, gm, text in graphs:
        graph = graph_from_text(text, stage)
        real = {n.name: n for n in gm.graph.nodes}
        assert [n.name for n in graph.nodes] == list(real), text
        for node in graph.nodes:
            check(node, real[node.name])


def check(node, real) -> None:
    assert node.op == real.op, node
    assert list(node.inputs) == [n.name for n in real.all_input_nodes], node
    value = real.meta.get("val", real.meta.get("example_value"))
    if isinstance(value, torch.Tensor):
        assert node.shape == tuple(map(str, value.shape))
        assert node.device == str(value.device)
        assert node.dtype == torch.fx.graph.dtype_abbrs[value.dtype]
    if real.op in {"call_method", "placeholder"}:
        assert node.target == str(real.target)


def test_a_module_at_hand_has_the_same_graph():
    (_, gm, text), *_ = compiled_graphs(arithmetic)
    graph, read = graph_from_module(gm, title="arithmetic"), graph_from_text(text, "dynamo")
    assert graph.title == "arithmetic"
    assert [(n.name, n.op, n.inputs, n.shape) for n in graph.nodes] == [
        (n.name, n.op, n.inputs, n.shape) for n in read.nodes
    ]
    functions = [n for n in graph.nodes if n.op == "call_function"]
    assert [n.target for n in functions] == [
        next(m.target for m in read.nodes if m.name == n.name) for n in functions
    ]


def test_a_traced_module_without_shapes_works():
    graph = graph_from_module(torch.fx.symbolic_trace(Net()))
    targets = {n.op: n.target for n in graph.nodes}
    assert targets["call_module"] == "linear"
    assert targets["get_attr"] == "scale"
    assert all(n.shape is None for n in graph.nodes)


def test_each_line_names_the_users_line():
    (_, _, text), *_ = compiled_graphs(arithmetic)
    graph = graph_from_text(text, "dynamo")
    first = arithmetic.__code__.co_firstlineno
    lines = {n.source.line - first for n in graph.nodes if n.source}
    assert lines == {1, 2, 3}
    where = next(n for n in graph.nodes if "where" in n.target)
    assert where.source.code == "return torch.where(w, z @ y.T, x.detach() // 2 % 3)"


def test_text_that_is_not_python_gives_no_nodes():
    graph = graph_from_text("graph():\n    %x : [num_users=1] = placeholder[target=x]\n", "dynamo")
    assert graph.nodes == ()
    assert "%x" in graph.code
