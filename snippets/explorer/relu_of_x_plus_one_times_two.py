"""`relu(x + 1) * 2`, from three Python lines to the instructions of an H200.

Click a line. Each became one operator of the graph and a line or two of the kernel. In SASS they
are an addition, a comparison with a choice, and another addition: doubling a number is adding it
to itself.
"""
# tclab: needs=triton timeout=300 memory=6144

import torch
from _reach import reached, share_with_origin, stages

import tclab


def f(x):
    shifted = x + 1
    positive = torch.relu(shifted)
    return positive * 2


c = tclab.capture(f, target="h200")(torch.randn(1_000_000))
(chain,) = c.chains()
assert stages(chain) == [
    "python", "bytecode", "dynamo", "forward", "post_grad",
    "ir", "kernel", "ttir", "ttgir", "llir", "ptx", "sass",
]  # fmt: skip
# claim: one-kernel-for-three-operators
assert len(c.kernels) == 1 and len(c.forward[0]) == 3
for line in ("x + 1", "torch.relu", "positive * 2"):
    # claim: each-line-is-at-every-stage
    assert reached(chain, line) == set(stages(chain)) - {"python"}, line
sass = chain.panes[-1].code
maximum = ("FMNMX",) if "FMNMX" in sass else ("FSETP", "SEL")
if "FMNMX" in sass:
    # claim: the-maximum-is-one-instruction, torch >= 2.14
    assert maximum == ("FMNMX",)
else:
    # claim: the-maximum-is-compare-and-select, torch < 2.14
    assert "FSETP" in sass and "SEL" in sass
for opcode in ("LDG", "FADD", *maximum, "STG"):
    # claim: load-compute-store-lead-back
    assert share_with_origin(chain, "sass", opcode) == 1, opcode
tclab.show(chain, name="chain")
