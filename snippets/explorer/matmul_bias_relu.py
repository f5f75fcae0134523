"""`relu(x @ w + bias)`: a library call and a kernel.

The product is cuBLAS's: what is inside the library, Inductor does not write. Bias and ReLU are
one Triton kernel. Click `x @ w`: it lights the call, and the kernel's line that loads the product.
"""
# tclab: needs=triton timeout=300 memory=6144

import torch
from _reach import reached, stages

import tclab


def f(x, w, bias):
    product = x @ w
    return torch.relu(product + bias)


torch.manual_seed(0)
x, w = torch.randn(1024, 512), torch.randn(512, 256)
bias = torch.randn(256)

c = tclab.capture(f, target="h200")(x, w, bias)
(chain,) = c.chains()
# claim: a-library-call-and-one-kernel
assert [k.category for k in c.kernels] == ["extern", "pointwise"]
assert "wrapper" in stages(chain)
# claim: the-product-lights-the-call-and-the-kernel
assert {"wrapper", "kernel"} <= reached(chain, "x @ w")
assert {"kernel", "ptx", "sass"} <= reached(chain, "torch.relu")
tclab.show(chain, name="chain")
