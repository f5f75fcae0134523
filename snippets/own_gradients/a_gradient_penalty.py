"""A gradient penalty, written in three ways, in eager mode and compiled.

The loss asks that the slope of a small critic along its input has length one, so the gradient of
the loss is a second derivative. Bytes are of the peak of a whole step, above what the step begins
with; weights' gradients are compared with eager's.
"""
# tclab: needs=cxx timeout=240

import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch.func import grad

import tclab


def critic(weights, x):
    first, second = weights
    return (torch.tanh(torch.tanh(x @ first) @ second)).sum()


def penalty_of(slope):
    return (slope.square().sum(-1).sqrt() - 1).square().mean()


def by_autograd(call):
    """As it is mostly written: the slope by `torch.autograd.grad`, with a graph."""

    def step(weights, x):
        leaves = [weight.detach().requires_grad_() for weight in weights]
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(call(leaves, x), x, create_graph=True)
        return torch.autograd.grad(penalty_of(slope), leaves)

    return step


def penalty(weights, x):
    return penalty_of(grad(critic, argnums=1)(weights, x))


def nested(weights, x):
    """Both derivatives by `torch.func`."""
    return grad(penalty)(weights, x)


def then_backward(call):
    """The slope by `torch.func` in the function, the rest by `backward` outside."""

    def step(weights, x):
        leaves = [weight.detach().requires_grad_() for weight in weights]
        return torch.autograd.grad(call(leaves, x), leaves)

    return step


counters = []


def compiled(fn):
    torch._dynamo.reset()
    counters.append(CompileCounterWithBackend("inductor"))
    return torch.compile(fn, backend=counters[-1], fullgraph=True)


def answer(make):
    """ "right" or the error; bytes at the peak of a step."""
    step, found = make(), []
    try:
        found.append(step(weights, x))
        peak = tclab.memory({"step": {"step": lambda: found.append(step(weights, x))}})["step"].peak
    except RuntimeError as error:
        return str(error).split(". ")[0], None
    for a, b in zip(found[-1], exact):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)
    return "right", peak


torch.manual_seed(0)
weights = [torch.randn(64, 256) / 8, torch.randn(256, 64) / 16]
x = torch.randn(512, 64)
exact = by_autograd(critic)(weights, x)
ANSWERS = {
    "autograd.grad, eager": answer(lambda: by_autograd(critic)),
    "autograd.grad of a compiled critic": answer(lambda: by_autograd(compiled(critic))),
    "torch.func nested, eager": answer(lambda: nested),
    "torch.func nested, compiled": answer(lambda: compiled(nested)),
    "torch.func compiled, backward outside": answer(lambda: then_backward(compiled(penalty))),
}
tclab.show(
    tclab.Table(
        title="The gradient of a gradient penalty",
        name="penalty",
        columns=("way", "says", "peak"),
        units=("", "", "KiB"),
        formats=("", "", ",.0f"),
        rows=[(way, said, peak and peak / 1024) for way, (said, peak) in ANSWERS.items()],
    )
)
eager, outside, func, whole, half = ANSWERS.values()

# claim: a-compiled-critic-is-an-error
assert outside[1] is None
# claim: nested-is-one-graph-and-right
assert whole[0] == half[0] == func[0] == "right"
assert [counter.frame_count for counter in counters[1:]] == [1, 1]
# claim: compiled-it-peaks-lower
assert max(whole[1], half[1]) < min(eager[1], func[1])
