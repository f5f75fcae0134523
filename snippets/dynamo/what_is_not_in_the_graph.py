"""What is not in the graph.

This function calls a helper, fills a list, sets an attribute, reads an environment variable
and loops. All of that is Python. Dynamo runs it once while it traces. What must happen
again on every call, it writes into the new bytecode. The graph holds tensor
operations only.
"""

import os

import torch

import tclab


class Monitor:
    shape = None


monitor = Monitor()


def helper(x):  # no trace of this call is left: it is inlined
    return x.sin() + 1


def f(x, notes):
    monitor.shape = tuple(x.shape)
    notes.append("called")
    if os.environ.get("NO_SUCH_VARIABLE"):
        x = x * 100
    for _ in range(3):
        x = helper(x)
    return x


x = torch.randn(8)
first, second = [], []
c = tclab.capture(f, backend="eager", fullgraph=True).over([(x, first), (x, second)])

graph = c.graphs[0]
assert len(c.graphs) == 1 and len(c.breaks) == 0
assert len(graph) == 6  # three times sin and add: the loop is unrolled, the helper inlined
assert "helper" not in {n.target for n in graph.nodes}
assert first == second == ["called"]  # each call still did its Python work
assert monitor.shape == (8,)

tclab.show(graph, name="graph")
tclab.show(c.bytecode[1], name="rewritten")
