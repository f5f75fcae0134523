"""GELU of `x + bias`, forward and backward.

Click `x + bias`. In the backward graph its line adds up the gradient over the rows, for the bias.
Click the line with `gelu` and look for `MUFU` in SASS: the special function unit's work.
"""
# tclab: needs=triton timeout=300 memory=6144

import torch
import torch.nn.functional as F
from _reach import lines, reached, stages

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
# claim: the-gradient-of-the-bias-is-a-sum-over-rows
assert any("sum" in line and "[0]" in line for line in lines(chain, "h = x + bias", "backward"))
# claim: gelu-uses-the-special-function-unit
assert any("MUFU" in line for line in lines(chain, "F.gelu", "sass"))
tclab.show(chain, name="chain")
