"""Softmax on a CPU: from Python to the lines of the C++ kernel.

No target: these are the kernels of the machine that built this page. The exponential is one
vector operation, `exp`, for 8 or 16 elements at a time, with a second loop for what is left over.
"""
# tclab: timeout=300

import torch
from _reach import reached, stages

import tclab


def f(x):
    return torch.softmax(x, dim=-1)


torch.manual_seed(0)
c = tclab.capture(f)(torch.randn(64, 1000))
(chain,) = c.chains
assert stages(chain)[-1] == "cpp"
assert {"bytecode", "dynamo", "ir", "cpp"} <= reached(chain, "torch.softmax")
assert "exp" in c.kernels[0].code
tclab.show(chain, name="chain")
