"""In-place operations become functional, and are put back at the end.

Inside the graph nothing is overwritten: `mul_` becomes `mul`, and a write into a slice becomes
a copy with that slice replaced. That makes the graph free to be reordered and fused. The
caller still sees the mutation: one `copy_` at the end writes the new values into the
input that was mutated.
"""

import re

import torch

import tclab


def update(state, x):
    state.mul_(0.9)
    state[:2].add_(x[:2])  # a write through a view
    return state.sum()


def replace(state, x):
    state[:] = x
    return state * 2


torch.manual_seed(0)
start, x = torch.randn(8), torch.randn(8)
ours, theirs = start.clone(), start.clone()

c = tclab.capture(update, backend="aot_eager")(ours, x)
expected = update(theirs, x)

dynamo, aten = c.graphs[0], c.forward[0]
written = [n.target for n in dynamo.nodes]
targets = [n.target.removeprefix("torch.ops.") for n in aten.nodes if n.op == "call_function"]
torch.testing.assert_close(c.result, expected)
# claim: the-caller-sees-the-change
assert torch.equal(ours, theirs) and not torch.equal(ours, start)
# claim: dynamo-keeps-what-you-wrote
assert "mul_" in written and "add_" in written
# claim: nothing-is-overwritten-inside
assert not any(re.match(r"aten\.\w+_\.", t) for t in targets if t != "aten.copy_.default")
# claim: a-write-through-a-view-is-a-scatter
assert "aten.slice_scatter.default" in targets
whole = tclab.capture(replace, backend="aot_eager")(start.clone(), x).forward[0]
# claim: a-write-through-all-of-it-is-not
assert not any("scatter" in node.target for node in whole.nodes)
# claim: one-copy-at-the-end
assert targets.count("aten.copy_.default") == 1 and targets[-1] == "aten.copy_.default"

trained = start.clone().requires_grad_() * 1
joint = tclab.capture(update, backend="aot_eager", backward=True)(trained, x)
# claim: with-a-gradient-the-copy-is-outside
assert not any("copy_" in n.target for n in joint.forward[0].nodes) and torch.equal(trained, theirs)

fused = tclab.capture(update)(start.clone(), x)
# claim: inductor-fuses-the-copy-here
assert len(fused.kernels) == 1

tclab.show(dynamo, name="dynamo")
tclab.show(aten, name="aten")
