"""`mode="max-autotune"` is refused: only timing on the GPU can decide.

It runs candidates on the GPU and takes the fastest. Which one that is cannot be known elsewhere.
"""
# tclab: needs=triton raises=tclab.targets.TargetError

import torch

import tclab


def f(x, w):
    return torch.relu(x @ w)


x, w = torch.randn(64, 64), torch.randn(64, 64)
c = tclab.capture(f, target="h200", mode="reduce-overhead")(x, w)
# claim: reduce-overhead-changes-no-kernel
assert [k.code for k in c.kernels] == [
    k.code for k in tclab.capture(f, target="h200")(x, w).kernels
]
tclab.capture(f, target="h200", mode="max-autotune")(x, w)
