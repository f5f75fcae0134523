"""An embedding, forward and backward: a gather and a scatter.

The forward loads an index, checks it, then loads the row it names: the second load waits for the
first. The backward fills the gradient with zeros, then adds: several rows may go to the same
place, so the store is `atomic_add`.
"""
# tclab: needs=triton timeout=300 memory=6144

import torch
import torch.nn.functional as F
from _reach import reached

import tclab


def f(tokens, table):
    return F.embedding(tokens, table) * 32.0


torch.manual_seed(0)
tokens = torch.randint(0, 8000, (8, 256))
table = torch.randn(8000, 512, requires_grad=True)

c = tclab.capture(f, target="h200", backward=True)(tokens, table)
(chain,) = c.chains()
assert {"forward", "backward", "kernel", "sass"} <= reached(chain, "F.embedding")
gather, zeros, scatter = (k.code for k in c.kernels)
# claim: zeros-then-atomic-adds
assert "tl.device_assert" in gather and "tl.atomic_add" in scatter and "tl.load" not in zeros
# claim: an-index-then-a-row
assert gather.count("tl.load(") == 2
# claim: an-index-put-in-the-graph
assert any("index_put" in node.target for node in c.backward[0].nodes)
ptx = [pane.code for pane in chain.panes if pane.stage == "ptx"]
later = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 15)
# claim: atom-or-red-in-ptx
assert any(("red.global" if later else "atom.global") in code for code in ptx)
tclab.show(chain, name="chain")
