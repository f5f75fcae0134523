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
assert len(c.breaks) == 0 and len(c.graphs) == 1
dynamo, forward, backward = c.graphs[0], c.forward[0], c.backward[0]
assert len(dynamo) == 3  # add, sigmoid, mul: what the two lines say
assert "torch.ops.aten" not in dynamo.code  # still the calls you wrote ...
assert "torch.ops.aten.sigmoid" in forward.code  # ... and now ATen
assert len(c.kernels) == 2  # one loop for the forward, one for the backward

tclab.show(dynamo, name="dynamo")
tclab.show(forward, name="forward")
tclab.show(backward, name="backward")
tclab.show(c.kernels[0], name="forward-kernel")
tclab.show(c.kernels[1], name="backward-kernel")
