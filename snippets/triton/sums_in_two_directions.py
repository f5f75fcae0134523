"""Layer norm for an H200: one kernel forward; sums in two directions backward.

Forward, mean and variance come from one load of the row, and the scaling fuses in. Backward the
input's gradient needs sums along each row, those of weight and bias sums down all rows. The table
says which kernels came of that.
"""
# tclab: needs=triton timeout=240

import re

import torch
import torch.nn.functional as F

import tclab

ROWS, COLUMNS = 8192, 768


def f(x, w, b):
    return F.layer_norm(x, (COLUMNS,), w, b)


x = torch.randn(ROWS, COLUMNS, requires_grad=True)
w = torch.randn(COLUMNS, requires_grad=True)
b = torch.randn(COLUMNS, requires_grad=True)
c = tclab.capture(f, target="h200", backward=True, dynamic=False)(x, w, b)
forward, *backward = c.kernels

# claim: one-kernel-forward
assert forward.category == "persistent_reduction" and len(c.wrapper) == 2
# claim: a-row-is-loaded-once
assert forward.code.count("tl.load(in_ptr0") == 1
# claim: the-backward-reduces
assert set(re.findall(r"tl\.sum\(tmp\d+, ([01])\)", backward[0].code)) == {"0", "1"}  # axes
# claim: both-directions-share-a-kernel
assert len(backward) == 1 and "MixOrderReductionGrid" in backward[0].code
# claim: pytorch-adds-the-partial-sums
assert c.wrapper[-1].code.count(".sum(dim=0") == 2  # of the weight, and of the bias

rows = [
    ("forward" if kernel is forward else "backward", kernel.kernel_name, kernel.category,
     kernel.code.count("tl.load("), kernel.code.count("tl.sum("))
    for kernel in c.kernels
]  # fmt: skip
columns = ("pass", "kernel", "category", "loads", "sums")
tclab.show(tclab.Table("Kernels of layer norm for an H200", "kernels", columns, rows))
tclab.show(c.wrapper[-1], title="The backward's wrapper", name="backward-wrapper")
