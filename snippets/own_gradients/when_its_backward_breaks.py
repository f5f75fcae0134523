"""What a backward of your own does, and what becomes of the forward.

The function multiplies, calls the `autograd.Function`, and adds. Each row is another backward: as
it is, and mended, which is compiled with `fullgraph=True`. All gradients are compared with eager's.
"""

import numpy as np
import torch

import tclab

seen = []


@torch.library.custom_op("own_gradients::watched", mutates_args=())
def watched(gradient: torch.Tensor) -> torch.Tensor:
    """Whatever Python does here, the compiler sees one operator."""
    seen.append(gradient.abs().max().item())
    return gradient.clone()


watched.register_fake(torch.empty_like)


def multiplies(gradient, x):
    return gradient * x.cos()


def calls_numpy(gradient, x):
    return gradient * torch.from_numpy(np.cos(x.detach().numpy()))


def appends_to_a_list(gradient, x):
    seen.append(1)
    return gradient * x.cos()


def prints(gradient, x):
    print("a gradient came", end="")
    return gradient * x.cos()


def asks_an_operator(gradient, x):
    return watched(gradient) * x.cos()


def asks_a_tensor(gradient, x):
    return gradient * x.cos() if gradient.abs().max() < 9 else gradient.clamp(-9, 9) * x.cos()


def takes_a_number(gradient, x):
    return gradient * x.cos() if gradient.max().item() < 9 else gradient.clamp(-9, 9) * x.cos()


def always_clamps(gradient, x):
    return gradient.clamp(-9, 9) * x.cos()


def derives_within(gradient, x):
    """Computes the forward again, and asks for its derivative, as checkpointing does."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        y = x.sin()
    return torch.autograd.grad(y, x, gradient)[0]


BACKWARDS = {
    multiplies: None,
    calls_numpy: None,
    appends_to_a_list: asks_an_operator,
    prints: asks_an_operator,
    asks_a_tensor: always_clamps,
    takes_a_number: always_clamps,
}


def function_with(backward):
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, gradient):
            return backward(gradient, *ctx.saved_tensors)

    return lambda x: Own.apply(x * 2) + 1


def captured(backward, **options):
    x = torch.linspace(-1, 1, 8, requires_grad=True)
    c = tclab.capture(function_with(backward), backend="aot_eager", backward=True, **options)(x)
    torch.testing.assert_close(x.grad, 2 * torch.cos(2 * x.detach()))
    return c


rows = {}
for backward, mended in BACKWARDS.items():
    c = captured(backward)
    ids = ", ".join(b.gb_id for b in c.breaks)
    whole = len(captured(mended, fullgraph=True).graphs) if mended else None
    rows[backward] = (len(c.graphs), len(c.backward), ids, whole)
    if backward is asks_a_tensor:
        tclab.show(c.breaks, name="broken")
columns = ("its backward", "graphs", "compiled backwards", "break", "mended: graphs")
tclab.show(
    tclab.Table(
        title="A backward that cannot be traced breaks the forward",
        name="backwards",
        columns=columns,
        rows=[(fn.__name__.replace("_", " "), *row) for fn, row in rows.items()],
    )
)
broken = [row for fn, row in rows.items() if BACKWARDS[fn]]

# claim: traceable-backwards-keep-one-graph
assert rows[multiplies][:3] == rows[calls_numpy][:3] == (1, 1, "")
# claim: the-forward-breaks
assert all(row[0] == 3 and row[2] for row in broken)
# claim: the-backward-of-the-class-stays-in-python
assert all(row[1] == 2 for row in broken)
# claim: each-is-mended
assert [row[3] for row in broken] == [1] * 4
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 15):
    # claim: a-derivative-within-breaks, torch < 2.15
    assert len(captured(derives_within).graphs) == 3
