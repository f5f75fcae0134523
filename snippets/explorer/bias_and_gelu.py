"""GELU of `x + bias`, forward and backward.

Click `x + bias`. In the backward graph its line adds up the gradient over the rows, for the bias.
Click the line with `gelu` and look for `MUFU` in SASS: the special function unit's work.
"""
# tclab: needs=triton timeout=300 memory=6144

import torch
import torch.nn.functional as F
from _reach import reached, stages

import tclab


def f(x, bias):
    h = x + bias
    return F.gelu(h, approximate="tanh")


torch.manual_seed(0)
x = torch.randn(2048, 1024, requires_grad=True)
bias = torch.randn(1024, requires_grad=True)

c = tclab.capture(f, target="h200", backward=True)(x, bias)
(chain,) = c.chains()
assert {"joint", "forward", "backward", "kernel", "sass"} <= set(stages(chain))
for line in ("h = x + bias", "F.gelu"):
    assert {"forward", "backward", "kernel", "ptx", "sass"} <= reached(chain, line), line
tclab.show(chain, name="chain")
