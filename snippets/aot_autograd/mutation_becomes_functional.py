"""In-place operations become functional, and are put back at the end.

Inside the graph nothing is overwritten: `mul_` becomes `mul`, and a write into a slice becomes
a copy with that slice replaced. That makes the graph free to be reordered and fused. The
caller still sees the mutation: one `copy_` at the end writes the new values into the
input that was mutated.
"""

import torch

import tclab


def update(state, x):
    state.mul_(0.9)
    state[:2].add_(x[:2])  # a write through a view
    return state.sum()


torch.manual_seed(0)
start, x = torch.randn(8), torch.randn(8)
ours, theirs = start.clone(), start.clone()

c = tclab.capture(update, backend="aot_eager")(ours, x)
expected = update(theirs, x)

torch.testing.assert_close(c.result, expected)
torch.testing.assert_close(ours, theirs)  # the caller's tensor was changed
assert not torch.equal(ours, start)

dynamo, aten = c.graphs[0], c.forward[0]
targets = [n.target for n in aten.nodes]
assert "mul_" in {n.target for n in dynamo.nodes}  # Dynamo keeps what you wrote
assert not any("mul_" in t or "add_" in t for t in targets)
assert any("slice_scatter" in t for t in targets)  # the write through the view
assert sum("copy_" in t for t in targets) == 1  # the only mutation left, at the end

fused = tclab.capture(update)(start.clone(), x)
assert len(fused.kernels) == 1  # Inductor fuses the copy with the rest: it costs no kernel

tclab.show(dynamo, name="dynamo")
tclab.show(aten, name="aten")
