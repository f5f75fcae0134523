"""Gradients through where: the side not taken can poison them.

`torch.where` computes both sides, and its backward goes through both: the side not taken gets a
gradient of zero. Zero times infinity is NaN. So a root that is guarded with `where` is right
forwards and NaN backwards. Make the argument harmless first, then compute: the second function.
"""

import math

import torch
from torch._dynamo.testing import CompileCounterWithBackend

import tclab


def poisoned(x):
    return torch.where(x > 0, x.sqrt(), 0.0).sum()


def safe(x):
    inside = torch.where(x > 0, x, 1.0)  # sqrt sees no zero
    return torch.where(x > 0, inside.sqrt(), 0.0).sum()


def gradient(fn):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    value = fn(x)
    value.backward()
    return value.item(), *x.grad.tolist()


counter = CompileCounterWithBackend("inductor")


def made(fn, how):
    return torch.compile(fn, backend=counter, fullgraph=True) if how == "compiled" else fn


rows = [
    (fn.__name__, how, *gradient(made(fn, how)))
    for fn in (poisoned, safe)
    for how in ("eager", "compiled")
]
# claim: the-value-is-right
assert counter.frame_count == 2 and all(value == 2.0 for _, _, value, _, _ in rows)
# claim: the-gradient-is-nan
assert all(math.isnan(at_zero) for name, _, _, at_zero, _ in rows if name == "poisoned")
# claim: a-harmless-argument-is-the-cure
assert all(row[3:] == (0.0, 0.25) for row in rows if row[0] == "safe")

columns = ("function", "how", "value", "gradient at 0", "gradient at 4")
tclab.show(tclab.Table("A root where x is positive", "gradients", columns, rows))
