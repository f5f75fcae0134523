"""What changes in the course of a training, and what then compiles again.

Each row is a training of its own; its numbers are the graphs compiled so far, after each step. A
weight that starts or stops to want a gradient, a gradient that is missing, a number that changes
and another object for the optimizer's state are guarded. The values of weights are not.
"""
# tclab: needs=cxx timeout=240

import copy

import torch
from torch._dynamo.utils import counters
from torch.optim import SGD, AdamW
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import tclab


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(8, 8)
        self.heads = torch.nn.ModuleList(torch.nn.Linear(8, 4) for _ in range(2))

    def forward(self, x, head=0):
        return self.heads[head](self.body(x).relu())


def backward(model, head=0):
    model(torch.ones(4, 8), head).square().sum().backward()


def unfreeze(done):
    """The body is frozen, but for the third and the fourth step."""
    net = Net()
    model = torch.compile(net)
    for step in range(6):
        net.body.requires_grad_(step in (2, 3))
        backward(model)
        done()


def alternate(done, kind):
    """The step of the optimizer is compiled; the heads take turns, so one has no gradient."""
    net = Net()
    optimizer = kind(net.parameters(), lr=torch.tensor(0.1))
    update = torch.compile(optimizer.step)
    for step in range(6):
        optimizer.zero_grad()
        backward(net, head=step % 2)
        update()
        done()


def average(done, hold):
    """A moving average of the weights, with a decay that changes."""
    net = Net()
    averaged = copy.deepcopy(net)

    @torch.compile
    @torch.no_grad()
    def update(weight):
        torch._foreach_lerp_([*averaged.parameters()], [*net.parameters()], weight)

    for step in range(4):
        update(hold(1 / (step + 2)))
        done()


def average_by_torch(done):
    net = Net()
    averaged = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.99))
    update = torch.compile(averaged.update_parameters)
    for _ in range(4):
        update(net)
        done()


def resume(done, loaded, kind=AdamW):
    """Three steps, a checkpoint that is loaded, three steps more."""
    net = Net()
    optimizer = kind(net.parameters(), lr=torch.tensor(0.1))
    model, update = torch.compile(net), torch.compile(optimizer.step)
    for step in range(6):
        if step == 3 and loaded == "model":
            net.load_state_dict(copy.deepcopy(net.state_dict()))
        if step in (3, 4) and loaded == "optimizer":
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        optimizer.zero_grad()
        backward(model)
        update()
        done()


def graphs(train, *args):
    """The graphs compiled so far, after each step."""
    torch._dynamo.reset()
    counters.clear()
    made = []
    train(lambda: made.append(counters["stats"]["unique_graphs"]), *args)
    return made


trainings = {
    "a frozen body, unfrozen for two steps": graphs(unfreeze),
    "two heads in turn, SGD's step": graphs(alternate, SGD),
    "two heads in turn, AdamW's step": graphs(alternate, AdamW),
    "an average, its weight a number": graphs(average, float),
    "an average, its weight a tensor": graphs(average, torch.tensor),
    "an average by AveragedModel": graphs(average_by_torch),
    "the model's state loaded after three steps": graphs(resume, "model"),
    "AdamW's state loaded after three steps, and after four": graphs(resume, "optimizer"),
    "the same with SGD, which keeps none": graphs(resume, "optimizer", SGD),
}
frozen, sgd, adamw, number, tensor, by_torch, *resumed = trainings.values()
model_loaded, optimizer_loaded, nothing_loaded = resumed
# claim: unfreezing-compiles-once-more
assert frozen[:4] == [1, 1, 2, 2]
# claim: freezing-again-finds-the-first-graph
assert frozen[4:] == [2, 2]
# claim: each-pattern-of-gradients-compiles
assert sgd == [1, 2, 2, 2, 2, 2]
# claim: adamw-compiles-a-third-time
assert adamw == [1, 2, 3, 3, 3, 3]
# claim: each-weight-of-an-average-compiles
assert number == [1, 2, 3, 4]
# claim: a-tensor-as-weight-compiles-once
assert tensor == [1, 1, 1, 1]
# claim: averaged-model-is-one-graph-from-its-second-call
assert by_torch == [0, 1, 1, 1]
# claim: loading-the-model-compiles-nothing
assert model_loaded == [2] * 6
# claim: loading-the-optimizer-compiles-its-step-again
assert optimizer_loaded == [2, 2, 2, 3, 4, 4]
# claim: without-a-state-it-does-not
assert nothing_loaded == [2] * 6

rows = [(name, *made, *[None] * (6 - len(made))) for name, made in trainings.items()]
columns = ("training", *(f"step {step}" for step in range(1, 7)))
tclab.show(tclab.Table("Graphs compiled so far", "graphs", columns, rows))
