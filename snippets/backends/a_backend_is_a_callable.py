"""A backend: one function that gets a graph and returns something to call.

This one counts the operations of each graph it is given and runs the graph as it is.
"""

import operator
from collections import Counter

import torch

import tclab

seen, runs = [], []


def counting(graph, example_inputs):
    seen.append((graph, example_inputs))

    def run(*inputs):
        runs.append(len(inputs))
        return graph.forward(*inputs)

    return run


@torch.compile(backend=counting)
def f(x, y):
    z = torch.relu(x) + y
    return z * z.sum()


x, y = torch.randn(3, 4), torch.randn(4)
before = len(seen)
result = f(x, y)
for _ in range(3):
    f(x, y)
graph, inputs = seen[0]
kinds = Counter(node.op for node in graph.graph.nodes)

tclab.show(tclab.Table(
    title="What the backend was given", name="given", columns=("what", "it is"),
    rows=[("graph", type(graph).__name__), ("example inputs", len(inputs)),
          ("kind of the first input", type(inputs[0]).__name__),
          *((f"nodes: {kind}", count) for kind, count in sorted(kinds.items()))],
))  # fmt: skip
tclab.show(graph, title="The graph", name="graph")

# claim: called-at-the-first-call
assert before == 0 and len(seen) == 1
# claim: it-gets-a-graph-module
assert isinstance(graph, torch.fx.GraphModule)
# claim: it-gets-one-example-for-each-input
assert len(inputs) == kinds["placeholder"] == 2
# claim: it-is-given-functions-of-torch
assert {str(n.target) for n in graph.graph.nodes if n.op == "call_method"} == {"sum"}
assert {n.target for n in graph.graph.nodes if n.op == "call_function"} == {
    *(torch.relu, operator.add, operator.mul)
}
z = torch.relu(x) + y
# claim: what-it-returns-is-called
assert runs == [2] * 4 and torch.allclose(result, z * z.sum())
