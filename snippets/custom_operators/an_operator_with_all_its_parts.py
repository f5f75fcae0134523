"""An operator of your own: the call, its shape, its derivative.

The function calls NumPy behind the compiler's back. As an operator it is one node: `register_fake`
says what comes out, `register_autograd` what the derivative is.
"""

import numpy as np
import torch

import tclab

asked = []


@torch.library.custom_op("lab::softsign", mutates_args=())
def softsign(x: torch.Tensor) -> torch.Tensor:
    asked.append("body")
    values = x.detach().numpy()
    return torch.from_numpy(values / (1 + np.abs(values)))


@softsign.register_fake
def _(x):
    asked.append("fake")
    return torch.empty_like(x)


def keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def derivative(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad / (1 + x.abs()).square()


softsign.register_autograd(derivative, setup_context=keep)


def f(x):
    return softsign(x * 2) + 1


@torch.library.custom_op("lab::clipped", mutates_args=())
def clipped(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


clipped.register_fake(torch.empty_like)
clipped.register_autograd(lambda ctx, grad: grad if grad.abs().max() < 9 else grad.clamp(-9, 9))


def is_refused(x):
    """Whether the compile of an operator fails whose derivative looks at a number."""
    try:
        torch.compile(clipped, backend="aot_eager", fullgraph=True)(x)
    except torch._dynamo.exc.BackendCompilerFailed:
        return True
    return False


x = torch.randn(8, 16, requires_grad=True)
c = tclab.capture(f, backward=True, fullgraph=True)(x)
ours = x.grad.clone()
torch._dynamo.reset()
compiled, calls = torch.compile(f, fullgraph=True), []
for _ in range(2):
    asked.clear()
    compiled(x)
    calls.append((asked.count("body"), asked.count("fake")))
x.grad = None
(torch.nn.functional.softsign(x * 2) + 1).sum().backward()
checks = torch.library.opcheck(softsign, (torch.randn(4, requires_grad=True),))

tclab.show(c.graphs[0], name="graph")
tclab.show(c.post_grad[0], name="forward")
tclab.show(c.post_grad[1], name="backward")
tclab.show(
    tclab.Table(
        title="What opcheck tried",
        name="checks",
        columns=("check", "says"),
        rows=list(checks.items()),
    )
)
targets = [node.target for node in c.graphs[0].nodes]

# claim: the-body-runs-at-a-call-alone
assert [body for body, _ in calls] == [1, 1]
# claim: the-fake-is-asked-while-tracing
assert calls[0][1] > 0 == calls[1][1]
# claim: one-node-in-one-graph
assert len(c.graphs) == 1 and sum("softsign" in t for t in targets) == 1
# claim: it-stays-one-node-down-to-inductor
assert sum("softsign" in node.target for node in c.post_grad[0].nodes) == 1
# claim: its-derivative-is-traced
assert not any("softsign" in node.target for node in c.post_grad[1].nodes)
assert any("abs" in node.target for node in c.post_grad[1].nodes)
# claim: a-decision-by-data-is-not-traced
assert is_refused(x)
# claim: what-stands-before-and-after-is-compiled
assert [kernel.category == "extern" for kernel in c.units[0].kernels] == [False, True, False]
# claim: the-gradient-is-right
assert len(c.backward) == 1 and torch.allclose(ours, x.grad)
# claim: opcheck-accepts-it
assert set(checks.values()) == {"SUCCESS"}


@torch.library.custom_op("lab::positives", mutates_args=())
def positives(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0]


@positives.register_fake
def _(x):
    return x.new_empty(torch.library.get_ctx().new_dynamic_size())


torch._dynamo.reset()
several = [torch.tensor(values) for values in ([-1.0, 2, 3], [1.0, 2, 3], [-1.0, -2, -3])]
c = tclab.capture(lambda x: positives(x) * 2, fullgraph=True).over([(x,) for x in several])
doubled = torch.compile(lambda x: positives(x) * 2, fullgraph=True)
# claim: a-size-that-depends-on-data-is-one-graph
assert len(c.graphs) == 1 and all(torch.equal(doubled(x), x[x > 0] * 2) for x in several)
