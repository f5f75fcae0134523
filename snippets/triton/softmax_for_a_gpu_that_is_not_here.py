"""Softmax for an H200, compiled where there is none.

`target="h200"` asks for what Inductor would write on that GPU. The kernel below was made by the
machine that built this page, and taken down to SASS. The exponential is `MUFU.EX2`; threads of a
warp exchange partial results with `SHFL`. There is no `BAR`, at which warps would wait for one
another, where each row belongs to one warp.
"""
# tclab: needs=triton timeout=180

import re
from collections import Counter

import torch

import tclab


def f(x):
    return torch.softmax(x, dim=-1)


x = torch.randn(4096, 1000)  # on the CPU; only its shape and dtype matter
c = tclab.capture(f, target="h200")(x)
(kernel,) = c.kernels
assert kernel.category == "persistent_reduction" and kernel.code.count("tl.load(") == 1

stages = c.stages(kernel.kernel_name)
sass = stages["sass"].code
opcodes = Counter(re.findall(r"(?:^|\s)(MUFU\.EX2|SHFL|BAR|LDG|STG|FADD|FMUL|FFMA)\b", sass))
# claim: an-exponential-and-shuffles
assert opcodes["MUFU.EX2"] and opcodes["SHFL"] and opcodes["LDG"] and opcodes["STG"], opcodes
layout = re.search(r"#blocked = .*warpsPerCTA = \[(\d+), (\d+)\]", stages["ttgir"].code)
# claim: no-warp-waits-for-another
assert opcodes["BAR"] == 0 and layout[2] == "1"

tclab.show(kernel, name="kernel")
tclab.show([stages["ttgir"], stages["ptx"], stages["sass"]])
columns = ("instruction", "times in the code")
tclab.show(
    tclab.Table(title="Some of the instructions", columns=columns, rows=opcodes.most_common())
)
