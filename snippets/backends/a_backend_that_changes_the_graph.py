"""A backend may change the graph: nobody compares the result with eager.

It puts GELU in the place of every ReLU, then has Inductor compile what came of it.
"""

import torch
from torch._inductor.compile_fx import compile_fx

import tclab


def gelu_for_relu(graph, example_inputs):
    for node in graph.graph.nodes:
        if node.op == "call_function" and node.target is torch.relu:
            node.target = torch.nn.functional.gelu
    graph.recompile()
    tclab.show(graph, title="The graph as it goes on", name="changed")
    return compile_fx(graph, example_inputs)


def f(x):
    return torch.relu(x) * 2


x = torch.linspace(-2, 2, 5)
changed = torch.compile(f, backend=gelu_for_relu)(x)
tclab.show(tclab.Table(
    title="The same call", name="results", columns=("x", "eager", "with this backend"),
    formats=(".0f", ".3f", ".3f"),
    rows=list(zip(x.tolist(), f(x).tolist(), changed.tolist())),
))  # fmt: skip

# claim: the-backends-graph-runs
assert torch.allclose(changed, torch.nn.functional.gelu(x) * 2)
# claim: nobody-compares-with-eager
assert not torch.allclose(changed, f(x))
