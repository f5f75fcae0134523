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
graphs = (c.forward[0], c.backward[0])
called = [{n.target.rsplit(".", 2)[-2] for n in g.nodes if "aten." in n.target} for g in graphs]
# claim: a-softmax-a-choice-a-mean
assert {"amax", "exp", "log", "gather", "sum", "div"} <= called[0]
# claim: the-backward-takes-exponentials-again
assert "exp" in called[1]
assert {"forward", "backward", "kernel", "sass"} <= reached(chain, "F.cross_entropy")
tclab.show(chain, name="chain")
