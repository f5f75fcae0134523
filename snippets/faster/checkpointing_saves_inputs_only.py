"""Activation checkpointing inside a compiled function: what is saved, what is done again.

The same block, plain and under `torch.utils.checkpoint`. What the backward graph takes in, but for
the gradient that comes to it, is what the forward had to keep.
"""

import torch
from torch.utils.checkpoint import checkpoint

import tclab


def block(x, w):
    return torch.sin(torch.exp(torch.tanh(x @ w)))


def plain(x, w):
    return block(x, w)


def checkpointed(x, w):
    return checkpoint(block, x, w, use_reentrant=False)


def measured(fn):
    """Graphs and breaks; what the backward takes in and calls; the gradients."""
    torch.manual_seed(0)
    x, w = (torch.randn(32, 32, requires_grad=True) for _ in range(2))
    c = tclab.capture(fn, backend="aot_eager", backward=True)(x, w)
    nodes = c.backward[0].nodes
    taken = [n.name for n in nodes if n.op == "placeholder" and not n.name.startswith("tangents")]
    called = [n.target.split(".")[-2] for n in nodes if n.op == "call_function"]
    return len(c.graphs), len(c.breaks), taken, called, (x.grad, w.grad)


rows = {fn.__name__: measured(fn) for fn in (plain, checkpointed)}
PRODUCTS = "products in the backward"
tclab.show(
    tclab.Table(
        title="Plain and checkpointed",
        name="ways",
        columns=("function", "kept for the backward", PRODUCTS),
        rows=[(name, ", ".join(row[2]), row[3].count("mm")) for name, row in rows.items()],
    )
)
before, after = rows.values()

# claim: a-checkpoint-is-no-break
assert after[:2] == (1, 0)
# claim: plain-keeps-results-of-the-block
assert any(not name.startswith(("primals", "t")) for name in before[2])
# claim: checkpointed-keeps-inputs-only
assert after[2] and all(name.startswith("primals") for name in after[2])
# claim: the-block-is-done-again
assert after[3].count("mm") == before[3].count("mm") + 1
# claim: the-gradients-are-the-same
assert all(torch.equal(a, b) for a, b in zip(before[4], after[4]))
