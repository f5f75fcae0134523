"""Layer norm: sums along each row, and sums down all rows.

Forward, mean and variance come from one load of the row, and scaling by the weight fuses in:
one kernel. Backward needs sums in two directions: along each row for the input's gradient, down
all rows for the gradients of weight and bias. See in the backward's wrapper and kernels how this
version combines them; partial sums of blocks of rows are added at the end.
"""
# tclab: needs=cuda timeout=120

import torch
import torch.nn.functional as F
from _launches import launched, relative_error

import tclab

ROWS, COLUMNS = 8192, 768


def f(x, w, b):
    return F.layer_norm(x, (COLUMNS,), w, b)


x = torch.randn(ROWS, COLUMNS, device="cuda", requires_grad=True)
w = torch.randn(COLUMNS, device="cuda", requires_grad=True)
b = torch.randn(COLUMNS, device="cuda", requires_grad=True)

c = tclab.capture(f, backward=True)(x, w, b)
assert len(c.breaks) == 0
forward, *backward = c.kernels
assert forward.category == "persistent_reduction", forward.category
assert any("reduction" in k.category for k in backward)

compiled = torch.compile(f)
upstream = torch.randn_like(x)
out = compiled(x, w, b)
grads = torch.autograd.grad(out, (x, w, b), upstream)
exact = [t.detach().double().requires_grad_() for t in (x, w, b)]
expected = f(*exact)
exact_grads = torch.autograd.grad(expected, exact, upstream.double())
assert relative_error(out, expected) < 1e-6
assert all(relative_error(g, e) < 1e-5 for g, e in zip(grads, exact_grads))
assert len(launched(compiled, x, w, b)) == 1

tclab.show(
    tclab.Table(
        title="Kernels of layer norm",
        columns=("pass", "kernel", "category", "ATen nodes fused into it"),
        rows=[
            (
                "forward" if k is forward else "backward",
                k.kernel_name,
                k.category,
                ", ".join(k.origins),
            )
            for k in c.kernels
        ],
    ),
    name="kernels",
)
tclab.show(forward, title="Layer norm, forward", name="forward")
tclab.show(c.wrapper[-1], title="The backward's wrapper", name="backward-wrapper")
for number, kernel in enumerate(backward, 1):
    tclab.show(kernel, title=f"Layer norm, backward {number}", name=f"backward-{number}")
