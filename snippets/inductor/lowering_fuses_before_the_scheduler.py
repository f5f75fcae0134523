"""Most pointwise fusion happens before the scheduler sees anything.

Lowering turns each ATen call into a description of one element: a function from an index to a
value. A value with one reader, a pointwise one, is given no memory: its description is pasted into
its reader's. So five operations arrive at the scheduler as one node.
"""

import re

import torch
from _ir import nodes

import tclab


def chain(x):
    return torch.sigmoid(torch.sin(x) + 1.0) * 2.0 - x


def softmax(x):
    return torch.softmax(x, dim=-1)


x = torch.randn(256, 512)
rows = []
for f in (chain, softmax):
    c = tclab.capture(f, dynamic=False)(x)
    before, after = nodes(c.ir_pre_fusion[0]), nodes(c.ir[0])
    rows.append((f.__name__, len(c.post_grad[0]), len(before), len(after), len(c.kernels)))
    if f is chain:
        tclab.show(c.post_grad[0], name="chain-graph")
        tclab.show(c.ir_pre_fusion[0], title="The chain before fusion", name="chain-ir")
        loaded = re.findall(r"ops\.load\('(\w+)'", c.ir_pre_fusion[0].code)
        # claim: only-the-input-is-loaded
        assert set(loaded) == {c.post_grad[0].nodes[0].name}  # it reads its input, nothing else
        # claim: one-store
        assert c.ir_pre_fusion[0].code.count("= ops.store(") == 1
    else:
        tclab.show(c.ir_pre_fusion[0], title="Softmax before fusion", name="softmax-before")
        reductions = re.findall(r"= ops\.(reduction|store_reduction)\(", c.ir_pre_fusion[0].code)
        tclab.show(c.ir[0], title="Softmax after fusion", name="softmax-after")

# claim: five-operations-arrive-as-one-node
assert rows[0][1:4] == (5, 1, 1), rows
# claim: a-reduction-is-stored
assert reductions == ["reduction", "store_reduction"] * 2, reductions  # maximum and sum
# claim: the-scheduler-fuses-softmax
assert rows[1][3] == 1, rows
columns = ("function", "ATen operations", "nodes before fusion", "after fusion", "kernels")
tclab.show(tclab.Table(title="From operations to kernels", columns=columns, rows=rows))
