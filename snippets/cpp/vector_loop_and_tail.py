"""The C++ loop: a vector at a time, then a tail.

1003 elements, and a vector register holds a fixed number of them. The loop takes whole vectors;
the last step loads and stores only what is left, so it never touches memory past the tensor.
A narrower register gives the same loop with another step.
"""

import re

import torch
from torch._inductor.cpu_vec_isa import pick_vec_isa

import tclab

N = 1003


def f(x):
    return torch.sigmoid(x) * x + 1.0


x = torch.randn(N)
isa = pick_vec_isa()
lanes = isa.nelements(torch.float32)  # float32 elements in one vector register
assert lanes > 1 and N % lanes, "this machine has no vector unit PyTorch knows"

c = tclab.capture(f, options={"cpp.threads": 1})(x)
(kernel,) = c.kernels
assert torch.allclose(c.result, f(x))
assert f"+=static_cast<int64_t>({lanes}L)" in kernel.code  # the step is one register
body, tail = re.findall(r"loadu\(in_ptr0 \+ [^,]+, static_cast<int64_t>\((\d+)L?\)\)", kernel.code)
assert (int(body), int(tail)) == (lanes, N % lanes)
assert "#pragma omp" not in kernel.code  # one thread was asked for

tclab.show(kernel, name="kernel")
rows = [
    ("instruction set Inductor chose", str(isa)),
    ("float32 elements in a vector", lanes),
    ("whole vectors", N // lanes),
    ("elements in the tail", N % lanes),
]
tclab.show(tclab.Table(title="1003 elements on this machine", columns=("what", "here"), rows=rows))
