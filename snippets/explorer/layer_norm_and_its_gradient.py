"""Layer normalisation written by hand, forward and backward.

Four Python lines, one kernel forward. It sums each row three times: `mean` once, and `var` twice,
for a mean of its own and for the squares. The row is loaded once. The backward reduces along rows
for `x`, and along columns for the weight and the bias.
"""
# tclab: needs=triton timeout=300 memory=6144

import re

import torch
from _reach import lines, reached

import tclab


def f(x, weight, bias):
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, correction=0)
    normed = (x - mean) * torch.rsqrt(var + 1e-5)
    return normed * weight + bias


torch.manual_seed(0)
x = torch.randn(2048, 768, requires_grad=True)
weight = torch.randn(768, requires_grad=True)
bias = torch.randn(768, requires_grad=True)

c = tclab.capture(f, target="h200", backward=True)(x, weight, bias)
(chain,) = c.chains()
forward = c.kernels[0].code
# claim: three-sums-of-one-load
assert forward.count("tl.sum(") == 3 and forward.count("tl.load(in_ptr0") == 1
for line in ("var = x.var", "normed = ", "return normed"):
    assert {"forward", "backward", "kernel", "sass"} <= reached(chain, line), line
# claim: the-forward-is-one-kernel
assert sum("async_compile.triton(" in line for line in c.wrapper[0].code.splitlines()) == 1
sums = [re.search(r"sum\S*\(\w+, \[(-?\d)\]", code) for code in c.backward[0].code.splitlines()]
# claim: the-backward-sums-both-ways
assert {int(found[1]) % 2 for found in sums if found} == {0, 1}
# claim: var-has-a-sum-of-its-own
assert any("tl.sum(" in line for line in lines(chain, "var = x.var", "kernel"))
tclab.show(chain, name="chain")
