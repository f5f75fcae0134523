"""Forty layers with weights of int8: as a subclass, and as two plain tensors in each layer.

The backend is `aot_eager`, the layers are small, and both do the same operations, so what differs
is what stands around the graph. Times are the fastest of many calls, in turns.
"""
# tclab: alone=true timeout=240

import time

import torch
from _int8 import Int8, quantised
from torch import nn
from torch.nn.functional import linear

import tclab

LAYERS, WIDTH = 40, 8


class Plain(nn.Module):
    """The same weight as two buffers."""

    def __init__(self, weight):
        super().__init__()
        self.register_buffer("numbers", weight.numbers)
        self.register_buffer("scales", weight.scales)

    def forward(self, x):
        return linear(x, self.numbers.to(x.dtype)) * self.scales


def unwrapped(model):
    """The model with `Plain` in place of each layer whose weight is an `Int8`."""
    return nn.Sequential(*(Plain(layer.weight) for layer in model))


torch.manual_seed(0)
torch.set_grad_enabled(False)
model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)))
for layer in model:
    layer.weight = nn.Parameter(quantised(layer.weight * 3), requires_grad=False)
x = torch.randn(2, WIDTH)
ways, guards, results = {}, {}, {}
for name, made in (("a subclass", model), ("two plain tensors", unwrapped(model))):
    c = tclab.capture(made, backend="aot_eager")(x)
    guards[name], results[name] = len(c.guards[0].guards), c.result
    ways[name] = torch.compile(made, backend="aot_eager")
    ways[name](x)
best, flattened = dict.fromkeys(ways, float("inf")), {}
for _ in range(300):
    for name, call in ways.items():
        before, begin = Int8.flattened, time.perf_counter()
        call(x)
        best[name] = min(best[name], time.perf_counter() - begin)
        flattened[name] = Int8.flattened - before
per = 1e6 * (best["a subclass"] - best["two plain tensors"]) / LAYERS
tclab.show(tclab.Table(
    title="Forty layers", name="call",
    columns=("weights", "a call", "guards", "taken apart in a call"),
    units=("", "µs", "", "times"), formats=("", ".0f", "d", "d"),
    rows=[(name, 1e6 * best[name], guards[name], flattened[name]) for name in ways],
))  # fmt: skip
tclab.show(tclab.Table(
    title="A weight", name="weight", columns=("what", "costs"), units=("", "µs"),
    formats=("", ".1f"), rows=[("a subclass, beyond two plain tensors", per)],
))  # fmt: skip

# claim: both-are-the-same
assert torch.equal(*results.values())
# claim: each-call-takes-each-weight-apart
assert flattened["a subclass"] >= LAYERS and flattened["two plain tensors"] == 0, flattened
# claim: that-costs-time
assert best["a subclass"] > best["two plain tensors"], best
