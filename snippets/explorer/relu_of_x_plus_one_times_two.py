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
for line in ("x + 1", "torch.relu", "positive * 2"):
    assert reached(chain, line) == set(stages(chain)) - {"python"}, line
sass = chain.panes[-1].code
maximum = ("FMNMX",) if "FMNMX" in sass else ("FSETP", "SEL")  # Triton 3.9 knows the first
for opcode in ("LDG", "FADD", *maximum, "STG"):  # load, compute, store
    assert share_with_origin(chain, "sass", opcode) == 1, opcode
tclab.show(chain, name="chain")
