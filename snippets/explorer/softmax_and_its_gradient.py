"""Softmax, forward and backward: two persistent reductions.

One Python line becomes a maximum, a subtraction, an exponential, a sum and a division. In the
forward each row is loaded once. `SHFL` in SASS passes partial results between the threads of a
warp.
"""
# tclab: needs=triton timeout=300 memory=6144

import torch
from _reach import reached, stages

import tclab


def f(x):
    return torch.softmax(x, dim=-1)


torch.manual_seed(0)
x = torch.randn(4096, 1000, requires_grad=True)

c = tclab.capture(f, target="h200", backward=True)(x)
(chain,) = c.chains()
assert [k.category for k in c.kernels] == ["persistent_reduction"] * 2
assert reached(chain, "torch.softmax") == set(stages(chain)) - {"python"}
assert "backward" in stages(chain) and "joint" in stages(chain)
# claim: each-row-is-loaded-once
assert c.kernels[0].code.count("tl.load(") == 1
sass = [pane.code for pane in chain.panes if pane.stage == "sass"]
# claim: shuffles-and-an-exponential
assert all("SHFL" in code for code in sass) and "MUFU.EX2" in sass[0]
tclab.show(chain, name="chain")
