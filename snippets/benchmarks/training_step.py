"""A training step: forward, backward and the optimizer.

Eight MLP blocks in float32 with TF32 products, Adam, two batch sizes. Compiling the model covers
forward and backward; the optimizer's step is compiled on its own. Before timing, the loss and the
gradients of both are compared with float64.
"""
# tclab: needs=cuda alone=true timeout=300 memory=32768

import copy

import torch
from _blocks import in_float64, stack
from _tables import break_even, table
from _timing import error, first_call, microseconds

import tclab

torch.set_float32_matmul_precision("high")  # TF32 products, in eager and compiled alike
DIM = 1024
plain = stack(layers=8, dim=DIM, hidden=4 * DIM).cuda()


def trainer(model, compiled):
    """A function that makes one training step on (x, target)."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
    forward = torch.compile(model, dynamic=False) if compiled else model
    update = torch.compile(optimizer.step) if compiled else optimizer.step

    def step(x, target):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(forward(x), target)
        loss.backward()
        update()
        return loss.detach()

    return step


def gradients(model, forward, x, target):
    """The gradients of the loss, flat; `model` is left without any."""
    loss = torch.nn.functional.mse_loss(forward(x), target)
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))])


rows = []
for batch in (64, 4096):
    data = [tuple(torch.randn(2, batch, DIM, device="cuda").unbind()) for _ in range(4)]
    exact = gradients(double := in_float64(plain), double, *(t.double() for t in data[0]))
    fast = torch.compile(plain, dynamic=False)
    wrong = [error(gradients(plain, f, *data[0]), exact) for f in (plain, fast)]
    assert all(w < 1e-2 for w in wrong), wrong
    del exact, double, fast
    torch.compiler.reset()
    eager_step, step = trainer(copy.deepcopy(plain), False), trainer(copy.deepcopy(plain), True)
    seconds = first_call(step, *data[0])[1]
    eager, us = microseconds(eager_step, data), microseconds(step, data)
    paid = break_even(seconds, eager, us)
    rows.append((batch, *wrong, eager, us, eager / us, seconds, paid))

columns = {"batch": "", "gradient error, eager": " .1e", "gradient error, compiled": " .1e"}
columns |= {"eager": "µs .0f", "compiled": "µs .0f", "speed-up": "× .2f", "first step": "s .1f"}
tclab.show(table("One training step", columns | {"steps to break even": " ,d"}, rows), name="steps")
