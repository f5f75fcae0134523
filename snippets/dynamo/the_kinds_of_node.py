"""The kinds of node in a graph.

FX knows six. Dynamo uses five of them: it looks through modules, so `call_module` is
not there. `torch.fx.symbolic_trace`, an older tracer, stops at modules and reads buffers with
`get_attr`. Dynamo keeps `get_attr` for what belongs to the graph itself: here the two
branches of `torch.cond`, each a graph of its own.
"""

from collections import Counter

import torch

import tclab


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(16, 16)
        self.register_buffer("shift", torch.ones(16))

    def forward(self, x):
        return self.lin(x).relu() + self.shift


def branch(x):
    return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))


torch.manual_seed(0)
x = torch.randn(4, 16)
module = tclab.capture(Block(), backend="eager")(x).graphs[0]
cond = tclab.capture(branch, backend="eager")(x).graphs[0]
older = torch.fx.symbolic_trace(Block())

counts = {
    "Dynamo, module": Counter(n.op for n in module.nodes),
    "Dynamo, torch.cond": Counter(n.op for n in cond.nodes),
    "fx.symbolic_trace, module": Counter(n.op for n in older.graph.nodes),
}
functions = {n.target: n.op for n in (*module.nodes, *cond.nodes) if n.op.startswith("call_")}
# claim: no-modules
assert counts["Dynamo, module"]["call_module"] == 0
# claim: the-older-tracer-stops-at-modules
assert counts["fx.symbolic_trace, module"]["call_module"] == 1
# claim: a-branch-belongs-to-the-graph
assert counts["Dynamo, torch.cond"]["get_attr"] == 2
# claim: functions-and-methods
assert functions["torch._C._nn.linear"] == "call_function" and functions["relu"] == "call_method"

kinds = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")
tclab.show(
    tclab.Table(
        title="Nodes by kind",
        columns=("kind", *counts),
        rows=[(kind, *(c[kind] for c in counts.values())) for kind in kinds],
    ),
    name="kinds",
)
tclab.show(module, name="module")
tclab.show(cond, name="cond")
