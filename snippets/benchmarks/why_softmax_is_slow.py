"""Softmax and RMS normalisation over rows of 8192: the loops of their kernels.

Both kernels are what Inductor writes for an H200, made on a machine without one. A loop goes over
a row in blocks. Counted is what stands in each loop.
"""
# tclab: needs=triton timeout=300

import re

import torch
from _tables import table

import tclab


def softmax(x):
    return torch.softmax(x, dim=-1)


def rms_norm(x, w):
    high = x.float()
    return (high * torch.rsqrt(high.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w


x = torch.empty(16384, 8192, dtype=torch.bfloat16)
w = torch.empty(8192, dtype=torch.bfloat16)
with torch.no_grad():
    captures = {
        "softmax": tclab.capture(softmax, target="h200")(x),
        "RMS normalisation": tclab.capture(rms_norm, target="h200")(x, w),
    }

lines = []
for name, capture in captures.items():
    (kernel,) = capture.kernels
    #    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
    _, *loops = re.split(r"\n    for \w+ in (?:tl\.)?range\(", kernel.code)
    for number, loop in enumerate(loops, 1):
        body = re.split(r"\n    \S", loop)[0]
        exponentials = len(re.findall(r"online_softmax_\w*combine|\.exp\(", body))
        reads = body.count("tl.load(in_ptr0")
        lines.append((name, kernel.category, number, reads, exponentials))

columns = {"function": "", "kernel": "", "loop": "", "reads of the row": "", "exponentials": ""}
caption = "An online combine rescales a running sum by exponentials; it is counted as one."
tclab.show(table("What stands in each loop", columns, lines, name="loops", caption=caption))

soft, rms = ([line for line in lines if line[0] == name] for name in captures)
# claim: both-read-twice
assert [line[1:4] for line in soft] == [line[1:4] for line in rms]
assert [line[1:4] for line in soft] == [("reduction", 1, 1), ("reduction", 2, 1)]
# claim: exponentials-in-both-loops
assert [line[4] for line in soft] == [1, 1]
assert [line[4] for line in rms] == [0, 0]
