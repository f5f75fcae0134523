"""One function through every stage.

`gate` is two lines of Python and three tensor operations. Follow them down: Dynamo
records them as a graph of the calls you wrote. AOTAutograd turns that into ATen
operations, forward and backward. Inductor fuses each of the two graphs into one loop
and writes it in C++, because the tensors of this run are on a CPU.
"""

import torch

import tclab


def gate(x, bias):
    opened = torch.sigmoid(x + bias)
    return opened * x


torch.manual_seed(0)
x = torch.randn(64, 512, requires_grad=True)
bias = torch.randn(512)

c = tclab.capture(gate, backward=True)(x, bias)

torch.testing.assert_close(c.result, gate(x, bias))
dynamo, forward, backward = c.graphs[0], c.forward[0], c.backward[0]
calls = [node.target for node in backward.nodes if node.op == "call_function"]
# claim: three-calls-as-you-wrote-them
assert len(c.graphs) == 1 and len(dynamo) == 3 and "torch.ops.aten" not in dynamo.code
# claim: aten-forward-and-backward
assert "torch.ops.aten.sigmoid" in forward.code and "torch.ops.aten.mul" in backward.code
# claim: one-joint-graph-cut-in-two
assert len(c.joint) == 1 and len(c.forward) == len(c.backward) == 1
# claim: the-backward-computes-the-sigmoid-again
assert "torch.ops.aten.sigmoid.default" in calls
# claim: one-loop-each
assert len(c.kernels) == 2
# claim: with-vector-instructions
assert all("at::vec::Vectorized" in kernel.code for kernel in c.kernels)
counts = dict(c.overview.rows)
# claim: graphs-breaks-guards-and-kernels-are-counted
assert (counts["Dynamo graphs"], counts["graph breaks"], counts["generated kernels"]) == (1, 0, 2)
assert counts["guards"] == len(c.guards[0]) > 0

tclab.show(dynamo, name="dynamo")
tclab.show(forward, name="forward")
tclab.show(backward, name="backward")
tclab.show(c.kernels[0], name="forward-kernel")
tclab.show(c.kernels[1], name="backward-kernel")
