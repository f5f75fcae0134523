"""The bytecode that runs instead.

Left of the call: what Python compiled from `f`. Right of it: what Dynamo left in its place.
The multiplication, the relu and the sum are gone. One call to `__compiled_fn_…` stands for
them. The append to the list is Python, not tensor work, so it stays as bytecode and
runs after the graph.
"""

import torch

import tclab

seen = []


def f(x):
    y = torch.relu(x * 2)
    seen.append(1)
    return y.sum()


c = tclab.capture(f, backend="eager")(torch.randn(8))

original, rewritten = c.bytecode[:2]
assert "relu" in original.code and "__compiled_fn" not in original.code
assert "__compiled_fn" in rewritten.code
assert "relu" not in rewritten.code  # the tensor work moved into the graph
assert seen == [1]  # and the append happened

tclab.show(original, name="original")
tclab.show(rewritten, name="rewritten")
tclab.show(c.graphs[0], name="graph")
