"""Cross entropy over 1,000 classes, forward and backward.

The logarithm of softmax and the choice of the target's class are one function call in Python. The
forward keeps the row's maximum and the logarithm of its sum for the backward, not the softmax.
"""
# tclab: needs=triton timeout=300 memory=6144

import torch
import torch.nn.functional as F
from _reach import reached

import tclab


def loss(logits, target):
    return F.cross_entropy(logits, target)


torch.manual_seed(0)
logits = torch.randn(512, 1000, requires_grad=True)
target = torch.randint(0, 1000, (512,))

c = tclab.capture(loss, target="h200", backward=True)(logits, target)
(chain,) = c.chains()
# claim: the-forward-keeps-two-numbers-a-row
assert {"amax", "log"} <= set(c.forward[0].nodes[-1].inputs)  # what the forward returns
assert {"forward", "backward", "kernel", "sass"} <= reached(chain, "F.cross_entropy")
tclab.show(chain, name="chain")
