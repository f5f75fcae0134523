"""What Inductor's passes changed, as a diff.

The minus lines are the graph AOTAutograd handed over, the plus lines what Inductor lowers after
its passes. A product and an addition become one library call; attention written out by hand is
recognised and becomes the fused operator; a view, a copy and a product with one are gone.
"""

import difflib
import math

import torch

import tclab


def linear(x, w, b):
    return x @ w + b


def attention(q, k, v):
    weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), dim=-1)
    return weights @ v


def detours(x, w, b):
    y = x.reshape(64, 64).clone() + 0.0
    return y * torch.ones(64) + b


def lines(graph):
    """One line for each operation: its target without the overload, and its arguments."""
    calls = [node for node in graph.nodes if node.op.startswith("call_")]
    return [f"{n.name} = {n.target.replace('torch.ops.', '')}({n.args})" for n in calls]


matrices = torch.randn(64, 64), torch.randn(64, 64), torch.randn(64)
heads = torch.randn(3, 2, 4, 64, 32).unbind()  # q, k, v: [batch, heads, tokens, features]
rows, after = [], {}
for f, args in ((linear, matrices), (attention, heads), (detours, matrices)):
    c = tclab.capture(f)(*args)
    exact = f(*(a.double() for a in args))
    assert torch.allclose(c.result.double(), exact, atol=1e-4)
    before, passed = lines(c.forward[0]), lines(c.post_grad[0])
    after[f.__name__] = "\n".join(passed)
    rows.append((f.__name__, len(before), len(passed), len(c.kernels)))
    diff = "\n".join(difflib.unified_diff(before, passed, "before", "after", lineterm="", n=20))
    tclab.show(tclab.Listing(title=f"Passes on {f.__name__}", code=diff, language="diff"))

# claim: a-product-and-a-sum-are-one-call
assert "aten.addmm" in after["linear"] and rows[0][2] == 1
# claim: attention-is-recognised
assert "scaled_dot_product" in after["attention"] and "softmax" not in after["attention"]
gone = ("aten.view", "aten.clone", "aten.mul")
# claim: detours-are-gone
assert rows[2][1] > rows[2][2] and not any(op in after["detours"] for op in gone)
columns = ("function", "operations before", "after", "kernels and library calls")
tclab.show(tclab.Table(title="Operations before and after the passes", columns=columns, rows=rows))
