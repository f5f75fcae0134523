"""An operator whose kernel the GPU picks is refused.

Which attention kernel PyTorch takes depends on the device, its cuDNN and the inputs. The answers
of one PyTorch on one device have been collected; the rest, a mask among it, is refused. The error
names the operator, the cause, and what to write instead.
"""
# tclab: needs=triton raises=tclab.targets.TargetError

import torch
import torch.nn.functional as F

import tclab


def f(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


q, k, v = torch.randn(3, 2, 4, 128, 64, dtype=torch.bfloat16)  # [batch, heads, sequence, head]
mask = torch.randn(128, 128, dtype=torch.bfloat16)
tclab.capture(f, target="h200")(q, k, v, mask)
