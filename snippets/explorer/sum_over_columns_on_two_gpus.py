"""The same sum over columns, for an H200 and for an A100.

Graphs, Inductor's IR, the kernels' code and Triton's IR are the same, but for the lines that
name the device. PTX has the same instructions, whatever its registers are called. SASS has not:
each GPU has instructions of its own, and keeps a kernel's parameters elsewhere.
"""
# tclab: needs=triton timeout=300 memory=6144

import re

import torch

import tclab


def f(x):
    return (x * x).sum(0)


torch.manual_seed(0)
x = torch.randn(16384, 512)
(h200,), (a100,) = (tclab.capture(f, target=gpu)(x).chains() for gpu in ("h200", "a100"))


def lines(chain, stage):
    panes = [pane.code.partition("@triton.jit")[2] or pane.code  # after a kernel's metadata
             for pane in chain.panes if pane.stage == stage]  # fmt: skip
    return {line for code in panes for line in code.splitlines() if ".py" not in line}  # places


for stage in ("python", "dynamo", "forward", "ir", "kernel", "ttir", "ttgir"):
    different = lines(h200, stage) ^ lines(a100, stage)
    assert all("target" in line for line in different), stage


def instructions(chain):
    text = "\n".join(pane.code for pane in chain.panes if pane.stage == "ptx")
    return sorted(re.findall(r"^\s+(?:@!?%p\d+ )?([a-z]\w*(?:\.\w+)+) .*;", text, re.MULTILINE))


# claim: the-same-instructions-in-ptx
assert instructions(h200) == instructions(a100) != []
parameter = {"c[0x0][0x210]": h200, "c[0x0][0x160]": a100}  # where the first parameter is
for place, chain in parameter.items():
    assert any(place in line for line in lines(chain, "sass"))
tclab.show(tclab.Diff("For an H200 and for an A100", "diff", ("H200", "A100"),
                      h200.panes, a100.panes))  # fmt: skip
