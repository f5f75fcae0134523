"""First and second derivatives through an `autograd.Function`: eager, compiled, from outside.

`sin` with a backward of its own, written in both styles: with `ctx` in `forward`, and with
`setup_context`. `Straight` rounds and passes the gradient through: its backward is not the
derivative of its forward, which is zero. *Nested* is `torch.func.grad`, once and twice, of its
sum. *From outside* is `torch.autograd.grad` with `create_graph=True`, twice. Values are
compared with cos and −sin.
"""

import torch
from torch.func import grad

import tclab


class OneMethod(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0].cos()


class TwoMethods(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    backward = OneMethod.backward


class Straight(torch.autograd.Function):
    """A straight-through estimator: the derivative of rounding would be zero."""

    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def from_outside(fn):
    def second(x):
        x = x.clone().requires_grad_()
        (first,) = torch.autograd.grad(fn(x), x, create_graph=True)
        return torch.autograd.grad(first.sum(), x)[0]

    return second


def answer(fn, exact):
    """ "right", "wrong" or "error"."""
    torch._dynamo.reset()
    try:
        found = fn(x)
    except Exception:
        return "error"
    return "right" if torch.allclose(found, exact) else "wrong"


def compiled(fn):
    return torch.compile(fn, backend="aot_eager", fullgraph=True)


def judged(function):
    """Of one class: what each way answers."""

    def total(x):
        return function.apply(x).sum()

    def second(x):
        return grad(lambda y: grad(total)(y).sum())(x)

    return {
        "nested once, eager": answer(grad(total), x.cos()),
        "nested once, compiled": answer(compiled(lambda x: grad(total)(x)), x.cos()),
        "nested twice, eager": answer(second, -x.sin()),
        "nested twice, compiled": answer(compiled(second), -x.sin()),
        "from outside, eager": answer(from_outside(total), -x.sin()),
        "from outside, compiled": answer(from_outside(compiled(total)), -x.sin()),
    }


x = torch.linspace(0.1, 1, 4)
one, two = judged(OneMethod), judged(TwoMethods)
columns = ("way", "ctx in forward", "setup_context")
rows = [(way, one[way], two[way]) for way in one]
tclab.show(tclab.Table("Derivatives", "derivatives", columns, rows))


def straight(x):
    return Straight.apply(x).sum()


def outside_of(fn):
    """The gradient by `backward`, which asks a compiled function from outside."""
    y = x.clone().requires_grad_()
    fn(y).backward()
    return y.grad


through, zero = torch.ones_like(x), torch.zeros_like(x)
nested = compiled(lambda x: grad(straight)(x))
gradients = {
    "func.grad, eager": grad(straight)(x),
    "func.grad within what is compiled": nested(x),
    "backward of what is compiled": outside_of(compiled(straight)),
}
rows = [(way, str(gradient.tolist())) for way, gradient in gradients.items()]
columns = ("way", "gradient")
tclab.show(tclab.Table("A backward that is not the derivative", "straight", columns, rows))
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])

# claim: eager-wants-setup-context
assert one["nested once, eager"] == "error" and two["nested once, eager"] == "right"
assert two["nested twice, eager"] == "right"
# claim: compiled-takes-both
assert one["nested once, compiled"] == two["nested once, compiled"] == "right"
# claim: from-outside-eager-alone
assert all(row["from outside, eager"] == "right" for row in (one, two))
assert all(row["from outside, compiled"] == "error" for row in (one, two))
# claim: from-outside-your-backward-is-kept
assert all(torch.equal(gradients[way], through) for way in gradients if "within" not in way)
if VERSION < (2, 15):
    # claim: nested-the-backward-is-dropped, torch < 2.15
    assert torch.equal(gradients["func.grad within what is compiled"], zero)
    # claim: nested-twice-is-right, torch < 2.15
    assert one["nested twice, compiled"] == two["nested twice, compiled"] == "right"
else:
    # claim: nested-the-backward-is-kept, torch >= 2.15
    assert torch.equal(gradients["func.grad within what is compiled"], through)
    # claim: nested-twice-is-wrong, torch >= 2.15
    assert one["nested twice, compiled"] == two["nested twice, compiled"] == "wrong"
