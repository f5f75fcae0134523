"""Softmax on a CPU: from Python through the C++ kernel to the processor's instructions.

No target: these are the kernels of the machine that built this page. The exponential is one
vector operation, `exp`, on x86 for 8 or 16 elements at a time, with a second branch for what is
left over. In the assembly it is a call into SLEEF, the library of vectorised functions that
PyTorch brings.
"""
# tclab: timeout=300

import shutil

import torch
from _reach import reached, share_with_origin, stages

import tclab


def f(x):
    return torch.softmax(x, dim=-1)


torch.manual_seed(0)
c = tclab.capture(f)(torch.randn(64, 1001))  # no multiple of 8 or 16
(chain,) = c.chains()
assert {"bytecode", "dynamo", "ir", "cpp"} <= reached(chain, "torch.softmax")
code = c.kernels[0].code
assert "exp" in code
# claim: each-pass-has-a-rest
assert code.count("C10_LIKELY(") == code.count("C10_UNLIKELY(") == 3
if shutil.which("objdump"):  # binutils: where there is a compiler there is this, too
    assert stages(chain)[-1] == "asm"
    assert "asm" in reached(chain, "torch.softmax")
    assert share_with_origin(chain, "asm", "exp") == 1
tclab.show(chain, name="chain")
