"""What only timing can decide is refused.

`mode="max-autotune"` runs candidates on the GPU and takes the fastest. Which one that is cannot
be known elsewhere.
"""
# tclab: needs=triton raises=tclab.targets.TargetError

import torch

import tclab


def f(x, w):
    return torch.relu(x @ w)


x, w = torch.randn(64, 64), torch.randn(64, 64)
tclab.capture(f, target="h200", mode="max-autotune")(x, w)
