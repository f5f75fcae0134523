"""A transformer block's training step: attention, MLP, norms, loss and all gradients.

Attention is written out, because which fused kernel `scaled_dot_product_attention` takes is for
the GPU and its libraries to say. The products are cuBLAS's; what Inductor writes is everything
between them. Click a line of `block` and see where it went, forward and backward.
"""
# tclab: needs=triton timeout=400 memory=8192

import torch
import torch.nn.functional as F
from _reach import reached, stages
from torch import nn

import tclab

torch.manual_seed(0)
D, HEADS = 64, 2
norm1, norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
qkv, out = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)
up, down = nn.Linear(D, 4 * D, bias=False), nn.Linear(4 * D, D, bias=False)


def attention(q, k, v):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return torch.softmax(scores, -1) @ v


def block(x):
    b, t, _ = x.shape  # [batch, sequence, D]
    q, k, v = qkv(norm1(x)).view(b, t, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
    mixed = attention(q, k, v).transpose(1, 2).reshape(b, t, D)
    x = x + out(mixed)
    return x + down(F.gelu(up(norm2(x))))


def loss(x, target):
    return F.mse_loss(block(x), target)


x, target = torch.randn(8, 64, D), torch.randn(8, 64, D)
c = tclab.capture(loss, target="h200", backward=True)(x, target)
(chain,) = c.chains()
assert {"wrapper", "kernel", "sass"} <= set(stages(chain))
for line in ("torch.softmax", "F.gelu", "F.mse_loss"):
    assert {"forward", "backward", "kernel", "sass"} <= reached(chain, line), line
assert {"forward", "backward", "wrapper"} <= reached(chain, "q @ k.mT")
products = {k.kernel_name for k in c.kernels if k.category == "extern"}
# claim: products-are-library-calls
assert products and all(name.endswith("mm") for name in products)
# claim: inductor-writes-no-product
assert not any("tl.dot(" in k.code for k in c.kernels)
# claim: more-than-fifteen-thousand-lines
assert sum(pane.code.count("\n") for pane in chain.panes) > 15_000
tclab.show(chain, name="chain")
