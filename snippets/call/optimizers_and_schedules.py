"""Optimizers and schedules: a learning rate that changes.

`torch.compile(optimizer.step)` makes one graph of the update, but not of a fused one. A schedule
changes the learning rate before every step. As a Python number it is guarded: for SGD, and for
AdamW with `foreach`, its default on a GPU, each value compiles again, until the limit; that of
AdamW's loop becomes an input at the second. Held in a tensor it is an input at once.
"""
# tclab: timeout=180

import copy
from functools import partial

import torch

import tclab

STEPS = 12


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))


def train(model, kind, rate, compiled):
    """Twelve steps with a schedule; the learning rates used."""
    optimizer = kind(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=STEPS)
    step = torch.compile(optimizer.step, backend="aot_eager") if compiled else optimizer.step
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).square().sum().backward()
        step()
        schedule.step()
    return float(optimizer.param_groups[0]["lr"])


def difference(kind, rate):
    """Graphs of the steps, and how far the weights are from those of eager steps."""
    ours, theirs = net(), net()
    torch._dynamo.reset()
    with tclab.capture() as c:
        last = train(ours, kind, copy.deepcopy(rate), compiled=True)
    assert last == train(theirs, kind, copy.deepcopy(rate), compiled=False)
    gaps = [(a - b).abs().max() for a, b in zip(ours.parameters(), theirs.parameters())]
    return len(c.graphs), max(gaps).item()


SGD, ADAM = torch.optim.SGD, torch.optim.AdamW
KINDS = {
    "SGD": partial(SGD, foreach=False),
    "AdamW": partial(ADAM, foreach=False),
    "AdamW, foreach": partial(ADAM, foreach=True),
    "AdamW, fused": partial(ADAM, fused=True),
}
RATES = {"a number": 0.01, "a tensor": torch.tensor(0.01)}
TRIED = [(name, held) for name in KINDS for held in RATES if held == "a number" or ", " not in name]
rows = [(name, held, *difference(KINDS[name], RATES[held])) for name, held in TRIED]
graphs = {row[:2]: row[2] for row in rows}
# claim: a-number-compiles-again-and-again
assert torch._dynamo.config.recompile_limit <= graphs["SGD", "a number"] < STEPS
# claim: foreach-compiles-again-and-again
assert torch._dynamo.config.recompile_limit <= graphs["AdamW, foreach", "a number"] < STEPS
# claim: a-fused-step-is-not-one-graph
assert graphs["AdamW, fused", "a number"] != 1
# claim: adams-number-becomes-an-input
assert graphs["AdamW", "a number"] == 2
# claim: a-tensor-compiles-once
assert graphs["SGD", "a tensor"] == graphs["AdamW", "a tensor"] == 1
# claim: the-weights-are-eagers
assert all(row[3] < 1e-5 for row in rows)

columns = ("optimizer", "learning rate", f"graphs in {STEPS} steps", "largest difference")
tclab.show(tclab.Table("A schedule over a compiled step", "steps", columns, rows,
                       formats=("", "", "", ".1e")))  # fmt: skip
