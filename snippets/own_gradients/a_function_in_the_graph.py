"""An `autograd.Function` of your own in a compiled function.

Its backward clips the gradient, which no derivative of `sin` would do. Below it the same as an
operator with `register_autograd`. `clips` is a global that both backwards read; it changes between
two calls.
"""

import torch
from torch._dynamo.testing import CompileCounterWithBackend

import tclab

clips = True


class ClippedSin(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        gradient = gradient * x.cos()
        return gradient.clamp(-1, 1) if clips else gradient


@torch.library.custom_op("own_gradients::clipped_sin", mutates_args=())
def clipped_sin(x: torch.Tensor) -> torch.Tensor:
    return x.sin()


clipped_sin.register_fake(torch.empty_like)
clipped_sin.register_autograd(
    ClippedSin.backward,
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


def f(x):
    return ClippedSin.apply(x * 2) * 4


def with_an_operator(x):
    return clipped_sin(x * 2) * 4


def gradient(fn):
    x = torch.zeros(4, requires_grad=True)
    fn(x).sum().backward()
    return x.grad[0].item()


def over_a_change(fn):
    """The gradient compiled and in eager mode, for both values of the global; compiles."""
    counter, found = CompileCounterWithBackend("aot_eager"), []
    compiled = torch.compile(fn, backend=counter)
    for value in (False, True):
        globals()["clips"] = value
        found.append((gradient(compiled), gradient(fn)))
    return found, counter.frame_count


x = torch.randn(4, requires_grad=True)
c = tclab.capture(f, backend="aot_eager", backward=True, fullgraph=True)(x)
(whole,), (forward,), (backward,) = c.graphs, c.forward, c.backward
ours = over_a_change(f)
theirs = over_a_change(with_an_operator)
tclab.show(whole, name="graph")
tclab.show(backward, name="backward")
tclab.show(
    tclab.Table(
        title="A global that the backward reads, False and then True",
        name="read",
        columns=("written as", "compiles", "gradient at True", "in eager mode"),
        rows=[
            ("autograd.Function", ours[1], *ours[0][1]),
            ("custom_op", theirs[1], *theirs[0][1]),
        ],
    )
)
calls = [node.target for node in whole.nodes if "autograd_function_apply" in node.target]
below = [node.target for graph in (forward, backward) for node in graph.nodes]

# claim: one-call-in-one-graph
assert len(c.graphs) == 1 and not c.breaks and len(calls) == 1
# claim: both-methods-are-in-it
assert "x.sin()" in whole.code and "class bwd_body_0" in whole.code and ".clamp(" in whole.code
# claim: below-nothing-of-the-class-is-left
assert not any("autograd_function" in target for target in below)
assert any("aten.sin." in node.target for node in forward.nodes)
# claim: the-backward-is-yours
assert any("aten.clamp." in node.target for node in backward.nodes)
# claim: what-the-backward-reads-is-guarded
assert ours == ([(8.0, 8.0), (2.0, 2.0)], 2)
# claim: an-operators-backward-is-not-guarded
assert theirs == ([(8.0, 8.0), (8.0, 2.0)], 1)
