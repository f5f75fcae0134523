"""Kernels that do not depend on one another: their order, their stream, and as one.

Three pointwise results of three sizes share nothing, so they cannot fuse into a loop. They are
compiled for an H200 that need not be there, without and with `combo_kernels`.
"""
# tclab: needs=triton

import re

import torch
from torch._inductor import config

import tclab


def three(a, b, c):
    return torch.sin(a), torch.cos(b) * 2, torch.tanh(c) + 1


def written_last(a, b, c):
    third = torch.tanh(c) + 1
    return torch.sin(a), torch.cos(b) * 2, third


def returned_last(a, b, c):
    first, second = torch.sin(a), torch.cos(b) * 2
    return torch.tanh(c) + 1, second, first


def calls(captured):
    """The calls of kernels in the wrapper, in order: (kernel, stream)."""
    code = captured.wrapper[0].code.partition("def call(")[2]
    return re.findall(r"(triton_\w+)\.run\(.*?stream=(\w+)\)", code, re.DOTALL)


torch.set_grad_enabled(False)
inputs = torch.randn(1000), torch.randn(64, 48), torch.randn(7, 333)
apart = [tclab.capture(f, target="h200")(*inputs) for f in (three, written_last, returned_last)]
with config.patch(combo_kernels=True):
    combined = tclab.capture(three, target="h200")(*inputs)
NAMES = ("sin, cos, tanh", "tanh written first", "tanh returned first", "combo_kernels")
rows = [
    (name, number, kernel.removeprefix("triton_poi_fused_"), stream)
    for name, captured in zip(NAMES, (*apart, combined))
    for number, (kernel, stream) in enumerate(calls(captured), 1)
]
columns = ("function", "place", "kernel", "stream")
tclab.show(tclab.Table("What the wrapper launches", "calls", columns, rows))
tclab.show(combined.kernels[0], name="combined")

order = {name: [k.split("_")[0] for f, _, k, _ in rows if f == name] for name in NAMES}
# claim: three-kernels-that-share-nothing
assert all(len(c.kernels) == 3 for c in apart)
# claim: in-the-order-they-are-returned
assert order["sin, cos, tanh"] == order["tanh written first"] == ["sin", "cos", "add"], order
assert order["tanh returned first"] == ["add", "cos", "sin"], order
# claim: one-stream
assert len({stream for *_, stream in rows}) == 1
# claim: a-combo-kernel-is-one-launch
assert len(combined.kernels) == len(calls(combined)) == 1
# claim: programs-are-divided-between-them
assert combined.kernels[0].code.count("if pid") == 3
