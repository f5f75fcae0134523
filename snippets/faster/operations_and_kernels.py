"""What there is to gain: operations of eager mode, kernels of the compiled function.

An operation that eager mode dispatches is a kernel or more. What fuses, saves launches and trips to
memory. What is one library call before is one afterwards, with guards in front of it.
"""
# tclab: timeout=180

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import tclab

F = torch.nn.functional


class Counted(TorchDispatchMode):
    """Counts operations that reach a device; views do not."""

    operations = 0

    def __torch_dispatch__(self, fn, types, args=(), kwargs=None):
        self.operations += not fn.is_view
        return fn(*args, **(kwargs or {}))


def chain(x, w):
    for _ in range(4):
        x = torch.sin(x) * 2 + w
    return x


def normed(x, w):
    return F.layer_norm(F.gelu(x + w), (64,)) * w


def product(x, w):
    return x @ w


def attention(x, w):
    return F.scaled_dot_product_attention(x[None, None], w[None, None], w[None, None])


def measured(fn, *args):
    """Operations, kernels written, library calls, guards; the compiled result is checked."""
    with Counted() as mode:
        expected = fn(*args)
    c = tclab.capture(fn)(*args)
    torch.testing.assert_close(c.result, expected, atol=1e-5, rtol=1e-5)
    written = [kernel for kernel in c.kernels if kernel.category != "extern"]
    return mode.operations, len(written), len(c.kernels) - len(written), len(c.guards[0])


torch.manual_seed(0)
torch.set_grad_enabled(False)
x, w = torch.randn(2, 64, 64)
rows = {fn.__name__: measured(fn, x, w) for fn in (chain, normed, product, attention)}
tclab.show(
    tclab.Table(
        title="Before and after",
        name="functions",
        columns=("function", "operations of eager", "kernels written", "library calls", "guards"),
        rows=[(name, *row) for name, row in rows.items()],
    )
)

# claim: a-chain-becomes-one-kernel
assert rows["chain"][0] == 12 and rows["chain"][1:3] == (1, 0)
# claim: a-norm-fuses-with-its-neighbours
assert rows["normed"][0] >= 4 and rows["normed"][1:3] == (1, 0)
# claim: a-product-stays-a-library-call
assert rows["product"][:3] == (1, 0, 1)
# claim: attention-stays-one-call
assert rows["attention"][:3] == (1, 0, 1)
# claim: each-has-guards
assert all(row[3] > 0 for row in rows.values())
