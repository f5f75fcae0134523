"""What is not in the graph.

This function calls a helper, fills a list, sets an attribute, reads a dictionary and an environment
variable, loops, and computes something that it never uses. All of that is Python. Dynamo runs it
while it traces. What must happen again on every call, it writes into the new bytecode. The
graph holds tensor operations only.
"""

import os

import torch

import tclab

monitor = torch.nn.Module()
options = {"shift": 1}


def helper(x):  # no trace of this call is left: it is inlined
    return x.sin() + options["shift"]


def f(x, notes):
    monitor.shape = tuple(x.shape)
    notes.append("called")
    if os.environ.get("LAB_TIMES_100"):
        x = x * 100
    x.cos()  # nobody asks for the result
    for _ in range(3):
        x = helper(x)
    return x


x = torch.randn(8)
notes, shapes = ([], []), []
with tclab.capture() as c:
    compiled = torch.compile(f, backend="eager", fullgraph=True)
    for some in notes:
        monitor.shape = None
        compiled(x, some)
        shapes.append(monitor.shape)

graph = c.graphs[0]
# claim: one-graph
assert len(c.graphs) == 1 and len(c.breaks) == 0
targets = [n.target for n in graph.nodes if n.op.startswith("call_")]
# claim: unrolled-and-inlined
assert targets == ["cos", *["sin", "operator.add"] * 3]
# claim: python-on-each-call
assert notes == (["called"], ["called"]) and shapes == [(8,), (8,)]
sources = " ".join(guard.source for guard in c.guards[0])
# claim: most-of-it-is-guarded
assert "options" in sources and "notes" in sources
checks = " ".join(check for guard in c.guards[0] for check in guard.checks)
# claim: the-variable-is-not
assert "LAB_TIMES_100" not in sources + checks
later = tclab.capture(f)(x, []).forward[0]  # after AOTAutograd
# claim: the-unused-goes-later
assert "cos" in targets and "sin" in later.code and "cos" not in later.code

tclab.show(graph, name="graph")
tclab.show(c.bytecode[1], name="rewritten")
