"""Training, evaluation, no_grad: one entry each, and often the same graph.

Gradient mode is guarded, so a call under `no_grad` compiles once more. Dynamo's graph is the same,
letter for letter; what differs comes later: with gradients AOTAutograd makes a forward and a
backward, without it makes one graph that saves nothing. `eval()` changes what dropout is, so
there Dynamo's graphs do differ, in the flag of the call. Each mode is compiled once: going back
and forth costs nothing.
"""

import torch

import tclab


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.lin(x)).relu()


def without_drop(x, weight):
    return (x @ weight).relu()


torch.manual_seed(0)
x, weight = torch.ones(2, 4), torch.ones(4, 4, requires_grad=True)
with tclab.capture() as grad:
    compiled = torch.compile(without_drop, backend="aot_eager")
    for enabled in (True, False, True, False):
        with torch.set_grad_enabled(enabled):
            compiled(x, weight)
block = Block()
with tclab.capture() as modes:
    compiled = torch.compile(block, backend="eager")
    for training in (True, False, True, False):
        block.train(training)
        compiled(x)

# claim: gradient-mode-costs-an-entry
assert len(grad.graphs) == 2 and "grad_mode" in grad.recompiles.recompiles[0].reasons[0]
with_grad, without = ([(n.op, n.target, n.args) for n in g.nodes] for g in grad.graphs)
# claim: the-two-graphs-are-the-same
assert with_grad == without
# claim: aotautograd-makes-the-difference
assert len(grad.joint) == len(grad.backward) == 1 and len(grad.forward) == 2
# claim: training-costs-an-entry
assert len(modes.graphs) == 2 and "training" in modes.recompiles.recompiles[0].reasons[0]
dropouts = ([n.args for n in g.nodes if "dropout" in n.target] for g in modes.graphs)
(trained,), (evaluated,) = dropouts
# claim: evaluation-has-another-graph
assert ", True, " in trained and evaluated == trained.replace(", True, ", ", False, ")

columns = ("what changes, four calls", "entries", "same Dynamo graph", "backward graphs")
rows = [("gradient mode", len(grad.graphs), with_grad == without, len(grad.backward)),
        ("train() and eval()", len(modes.graphs),
         modes.graphs[0].code == modes.graphs[1].code, None)]  # fmt: skip
tclab.show(tclab.Table("Modes", "modes", columns, rows))
tclab.show(grad.recompiles, name="gradient-mode")
tclab.show(modes.recompiles, name="training")
