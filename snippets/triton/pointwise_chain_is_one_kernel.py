"""A chain of pointwise operations is one Triton kernel.

Read the kernel from its signature down. `xnumel` is the number of elements, `XBLOCK` how many
one program handles, `xmask` keeps the last program inside the tensor. Each input is loaded
once, the result stored once; everything between stays in registers.
"""
# tclab: needs=cuda timeout=120

import torch
import torch.nn.functional as F
from _launches import launched, relative_error

import tclab


def f(x, b):
    return F.gelu(x + b) * x


x = torch.randn(4096, 1000, device="cuda")  # [rows, columns]; not a multiple of any block
b = torch.randn(1000, device="cuda")  # one value a column

c = tclab.capture(f)(x, b)
(kernel,) = c.kernels
assert kernel.category == "pointwise", kernel.category
assert kernel.code.count("tl.load(") == 2  # x and b
assert kernel.code.count("tl.store(") == 1
assert relative_error(c.result, f(x.double(), b.double())) < 1e-6

compiled = torch.compile(f)
eager_kernels, compiled_kernels = launched(f, x, b), launched(compiled, x, b)
assert len(compiled_kernels) == 1 and len(eager_kernels) == 3

tclab.show(kernel, name="kernel")
tclab.show(c.graphs[0], name="graph")
tclab.show(c.wrapper[0], name="wrapper")
tclab.show(
    tclab.Table(
        title="Kernels one call launches",
        columns=("eager or compiled", "number", "kernels"),
        rows=[
            ("eager", len(eager_kernels), "; ".join(n.split("<")[0] for n in eager_kernels)),
            ("compiled", len(compiled_kernels), "; ".join(compiled_kernels)),
        ],
    ),
    name="launches",
)
