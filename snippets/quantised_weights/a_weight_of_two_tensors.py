"""A weight that holds int8 numbers and scales, as a tensor subclass: what each graph sees of it.

`__tensor_flatten__` names the plain tensors inside, and `__torch_function__` says what `linear`
does with them. The second graph is AOTAutograd's.
"""
# tclab: timeout=120

import inspect

import torch
from _int8 import Int8, quantised
from torch import nn

import tclab


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(32, 64, bias=False)

    def forward(self, x):
        return torch.relu(self.layer(x))


torch.manual_seed(0)
torch.set_grad_enabled(False)
model, x = Model(), torch.randn(4, 32)
exact = model(x)
model.layer.weight = nn.Parameter(quantised(model.layer.weight), requires_grad=False)
eager = model(x)
c = tclab.capture(model, backend="aot_eager")(x)
off = ((eager - exact).norm() / exact.norm()).item()
(after,) = c.forward
source = inspect.getsource(Int8)
tclab.show(tclab.Listing("The subclass", code=source, language="python", name="subclass"))
tclab.show(c.graphs[0], name="dynamo")
tclab.show(after, name="aot")

before = [node for node in c.graphs[0].nodes if node.op == "placeholder"]
inside = [node for node in after.nodes if node.op == "placeholder"]
# claim: dynamo-sees-one-weight
assert len(before) == 2 and "linear" in c.graphs[0].code and "int8" not in c.graphs[0].code
# claim: below-it-there-are-two-tensors
assert len(inside) == 3 and "i8[64, 32]" in after.code and "f32[64]" in after.code
# claim: the-conversion-is-in-the-graph
assert "convert_element_type" in after.code or "_to_copy" in after.code
# claim: compiled-is-eager
assert (c.result - eager).abs().max() < 1e-5
# claim: int8-is-near-the-weight
assert off < 2e-2, off
