"""What an `autograd.Function` of your own saves, in eager mode and compiled.

The first keeps two intermediate results, as one would who wants a fast backward. The second keeps
its inputs only and makes the product again, as one would who is short of memory. Bytes are of
storages that no input owns.

In the second table the input is changed in place between forward and backward. The one holds it by
`save_for_backward`, the other as an attribute of `ctx`.
"""

import torch
from _saved import activations, saved

import tclab


class Keeps(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        product = x @ w
        result = product.exp()
        ctx.save_for_backward(x, w, product, result)
        return result.sin()

    @staticmethod
    def backward(ctx, gradient):
        x, w, _, result = ctx.saved_tensors
        inner = gradient * result.cos() * result
        return inner @ w.T, x.T @ inner


class MakesItAgain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).exp().sin()

    @staticmethod
    def backward(ctx, gradient):
        x, w = ctx.saved_tensors
        result = (x @ w).exp()
        inner = gradient * result.cos() * result
        return inner @ w.T, x.T @ inner


class BySaving(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0].cos()


class AsAnAttribute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.x.cos()


def kept(fn):
    storages, gradients = saved(fn, x, w)
    torch.testing.assert_close(gradients, saved(lambda x, w: (x @ w).exp().sin(), x, w)[1])
    return activations(storages, x, w)


def after_a_change(fn):
    """ "right", "wrong" or "error": the gradient where the input was changed before it."""
    leaf = torch.ones(4, requires_grad=True)
    middle = leaf * 1
    result = fn(middle)
    with torch.no_grad():
        middle.add_(1)
    try:
        result.sum().backward()
    except RuntimeError:
        return "error"
    return "right" if torch.allclose(leaf.grad, torch.ones(4).cos()) else "wrong"


torch.manual_seed(0)
x = (torch.randn(256, 64) / 8).requires_grad_()
w = (torch.randn(64, 128) / 8).requires_grad_()
both = {fn: [fn.apply, torch.compile(lambda *x, fn=fn: fn.apply(*x), backend="aot_eager")]
        for fn in (Keeps, MakesItAgain, BySaving, AsAnAttribute)}  # fmt: skip
held = {fn: [kept(way) for way in both[fn]] for fn in (Keeps, MakesItAgain)}
changed = {fn: [after_a_change(way) for way in both[fn]] for fn in (BySaving, AsAnAttribute)}
columns = ("class", "eager", "compiled")
rows = [(fn.__name__, *bytes_) for fn, bytes_ in held.items()]
units, formats = ("", "bytes", "bytes"), ("", ",d", ",d")
tclab.show(tclab.Table("Kept for the backward", "kept", columns, rows, units, formats))
rows = [(fn.__name__, *answers) for fn, answers in changed.items()]
tclab.show(tclab.Table("The input is changed in between", "changed", columns, rows))
product = 256 * 128 * 4
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])

# claim: the-partitioner-keeps-one-of-two
assert held[Keeps] == [2 * product, product]
# claim: eager-does-what-is-written
assert held[MakesItAgain][0] == 0
if VERSION < (2, 14):
    # claim: the-second-product-is-undone, torch < 2.14
    assert held[MakesItAgain][1] == product
else:
    # claim: the-second-product-stays, torch >= 2.14
    assert held[MakesItAgain][1] == 0
# claim: an-attribute-is-not-checked
assert changed[AsAnAttribute][0] == "wrong" and changed[BySaving][0] == "error"
# claim: compiled-it-is-the-same
assert all(answers[0] == answers[1] for answers in changed.values())
