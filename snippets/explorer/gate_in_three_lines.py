"""A gate in three lines, from Python to the instructions of an H200.

Each line reaches the machine code. The whole function is one kernel: what a line made is a few
instructions of it, and no intermediate result goes through memory.
"""
# tclab: needs=triton timeout=300 memory=6144

import torch
from _reach import reached, share_with_origin, stages

import tclab


def gate(x, bias):
    shifted = x + bias
    opened = torch.sigmoid(shifted)
    return opened * x


c = tclab.capture(gate, target="h200")(torch.randn(4096, 1024), torch.randn(1024))
(chain,) = c.chains()
# claim: one-kernel
assert len(c.kernels) == 1
for line in ("x + bias", "torch.sigmoid", "opened * x"):
    # claim: each-line-reaches-the-instructions
    assert {"dynamo", "forward", "kernel", "ptx", "sass"} <= reached(chain, line), line
assert stages(chain)[0] == "python" and stages(chain)[-1] == "sass"
assert share_with_origin(chain, "sass", "LDG") == share_with_origin(chain, "sass", "STG") == 1
tclab.show(chain, title="Three lines of Python, and what they became", name="chain")
