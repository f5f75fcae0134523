"""The loss of a training run: eager, compiled, and the same run in float64.

One network, the same weights and batches, four runs: eager, compiled, eager in float64, and eager
with one weight moved by the smallest step that float32 has.
"""
# tclab: timeout=180

import torch
from torch import nn

import tclab

STEPS = 40


def net(dtype):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 1)).to(dtype)


def losses(compiled, dtype=torch.float32, moved=False):
    """The loss of each step of plain SGD."""
    model = net(dtype)
    if moved:
        weight = model[0].weight.data[0]
        weight[0] = torch.nextafter(weight[0], weight[1])

    def loss(x, y):
        return (model(x) - y).square().mean()

    step = torch.compile(loss) if compiled else loss
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    values = []
    torch.manual_seed(1)
    for _ in range(STEPS):
        x = torch.randn(128, 32).to(dtype)
        value = step(x, x[:, :4].prod(-1, keepdim=True))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        values.append(value.item())
    return values


eager, again, ours = losses(False), losses(False), losses(True)
exact, moved = losses(False, torch.float64), losses(False, moved=True)
off = {
    "moved from eager": [abs(a - b) for a, b in zip(moved, eager)],
    "compiled from eager": [abs(a - b) for a, b in zip(ours, eager)],
    "eager from float64": [abs(a - b) for a, b in zip(eager, exact)],
    "compiled from float64": [abs(a - b) for a, b in zip(ours, exact)],
}
shown = (0, 9, 19, 29, STEPS - 1)
tclab.show(
    tclab.Table(
        title="How far apart the losses are",
        name="losses",
        columns=("step", "loss", *off),
        formats=("", ".3f", *(".1e",) * 4),
        rows=[(n + 1, exact[n], *(column[n] for column in off.values())) for n in shown],
    )
)
largest = {name: max(column) for name, column in off.items()}

# claim: eager-repeats-itself
assert eager == again
# claim: compiled-is-not-eager-bit-for-bit
assert ours != eager
# claim: one-weight-moved-does-as-much
assert 0.1 < largest["compiled from eager"] / largest["moved from eager"] < 10
# claim: compiled-is-as-near-to-float64
assert largest["compiled from float64"] < 3 * largest["eager from float64"]
# claim: the-gap-is-small
assert all(gap < 1e-5 * loss for gap, loss in zip(off["compiled from eager"], exact))
