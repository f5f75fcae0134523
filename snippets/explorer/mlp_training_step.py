"""A training step of a small MLP: forward, loss, backward.

In the forward a layer's product and bias are one library call; the gradient of the bias is a sum
in a kernel. Click the line with `gelu`: it is in a forward kernel and in a backward kernel.
"""
# tclab: needs=triton timeout=300 memory=6144

import torch
import torch.nn.functional as F
from _reach import lines, reached, stages
from torch import nn

import tclab

torch.manual_seed(0)
first, second = nn.Linear(256, 1024), nn.Linear(1024, 16)


def loss(x, target):
    hidden = F.gelu(first(x))
    logits = second(hidden)
    return F.cross_entropy(logits, target)


x, target = torch.randn(512, 256), torch.randint(0, 16, (512,))
c = tclab.capture(loss, target="h200", backward=True)(x, target)
(chain,) = c.chains()
assert {"wrapper", "kernel", "sass"} <= set(stages(chain))
assert {"forward", "backward", "kernel", "sass"} <= reached(chain, "F.gelu")
assert {"forward", "backward", "wrapper"} <= reached(chain, "second(hidden)")
layers = ("first(x)", "second(hidden)")
# claim: each-product-is-a-library-call
assert all(any("extern_kernels" in t for t in lines(chain, one, "wrapper")) for one in layers)
# claim: and-each-layer-is-in-triton
assert all("kernel" in reached(chain, layer) for layer in layers)
assert first.weight.grad is not None  # it ran, on the CPU
tclab.show(chain, name="chain")
