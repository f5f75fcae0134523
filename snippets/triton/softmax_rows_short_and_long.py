"""Softmax for an H200: a short row stays in registers, a long one is walked twice.

A row of 1000 fits in one program: the kernel loads it once, and maximum, sum and division work on
that load. A row of 131,072 does not: one loop finds maximum and sum together, a second one divides
and has to load again. The backward of the short one loads the gradient and the saved output.
"""
# tclab: needs=triton timeout=240

import re

import torch

import tclab


def f(x):
    return torch.softmax(x, dim=-1)


def facts(kernel):
    """Its category, the loops in its text, and the loads."""
    loops = len(re.findall(r"^\s+for \w+ in ", kernel.code, re.MULTILINE))
    return kernel.category, loops, kernel.code.count("tl.load(")


short = torch.randn(4096, 1000, requires_grad=True)  # [rows, columns]
forward, backward = tclab.capture(f, target="h200", backward=True, dynamic=False)(short).kernels
(long,) = tclab.capture(f, target="h200", dynamic=False)(torch.randn(512, 131072)).kernels
rows = [
    ("1000 columns, forward", *facts(forward)),
    ("1000 columns, backward", *facts(backward)),
    ("131,072 columns, forward", *facts(long)),
]

# claim: a-short-row-is-loaded-once
assert rows[0][1:] == ("persistent_reduction", 0, 1)
# claim: its-backward-loads-two
assert rows[1][1:] == ("persistent_reduction", 0, 2)
# claim: a-long-row-is-walked-twice
assert rows[2][1:] == ("reduction", 2, 2)
# claim: the-decorator-says-persistent
assert "@triton_heuristics.persistent_reduction" in forward.code
assert "@triton_heuristics.reduction" in long.code

columns = ("row", "category", "loops", "loads in the code")
tclab.show(tclab.Table("Softmax for an H200", "softmax", columns, rows))
