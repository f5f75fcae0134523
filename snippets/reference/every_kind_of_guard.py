"""Every kind of guard that this PyTorch has, each with an example from a run.

Small functions, each of which reads the world in another way, are captured; a kind that none of
them needs has no example. What Dynamo asks for is a method of its guard builder. Most become one or
more of these kinds; a few do nothing, since the global state is checked anyway.
"""

import collections
import inspect
import math
import weakref

import torch
from _source import place
from torch._dynamo.guards import GuardBuilder

import tclab

options = {"scale": 2.0, 3: 4.0}
sizes, names, seen, text = [1, 2], {"a", "b"}, (1, 2.5, None), "relu"
flag, count, referred = True, 3, torch.nn.Identity()
weak = weakref.ref(referred)
layer = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout())
Pair = collections.namedtuple("Pair", "a b")
pair = Pair(1, 2)


class Config:
    width = 4

    def __init__(self):
        self.depth = 2


config = Config()


def containers(x):
    y = x * options["scale"] + len(sizes) + sizes[0] + seen[1]
    y = y * 2 if "missing" not in options else y
    y = y + 1 if "a" in names and "c" not in names else y
    return y + sum(key for key in options if isinstance(key, int)) + pair.a


def values(x, times=2, nothing=None):
    y = getattr(torch, text)(x) + count + math.pi
    y = y + config.depth if flag and nothing is None else y
    return y * times if hasattr(config, "width") and not hasattr(config, "height") else y


def objects(x):
    y = layer(x) if isinstance(x, torch.Tensor) else x
    return y + 1 if weak() is not None and type(config) is Config else y


def tensors(x, y, other):
    z = x + y if x is other else x - y
    return z.clone() if torch.is_grad_enabled() and x.requires_grad else z


def iterators(x, pairs, steps, numbers):
    for _, value in zip(range(2), pairs):
        x = x + value
    return x + next(steps) + next(numbers)


def state(x):
    with torch.no_grad():
        y = x.sin()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return y + x.cos()


def sized(x):
    return x.sum() if x.shape[0] > 3 else x


x = torch.randn(4, 4)
calls = [
    (containers, (x,), {}), (values, (x,), {}), (objects, (x,), {}),
    (tensors, (x.requires_grad_(), x.detach(), x), {}), (state, (x,), {}),
    (iterators, (x, iter((1, 2)), iter(range(3)), iter([5])), {}),
    (sized, (x,), {"dynamic": True}), (torch.func.grad(lambda x: x.sin().sum()), (x.detach(),), {}),
]  # fmt: skip
examples = {}
for function, arguments, settings in calls:
    c = tclab.capture(function, backend="eager", **settings)(*arguments)
    for guard in (guard for guards in c.guards for guard in guards):
        shown = guard.checks[0] if guard.checks else None
        if guard.type not in examples or examples[guard.type][1] is None:
            examples[guard.type] = (guard.source or None, shown)

known = {name for name in vars(torch._C._dynamo.guards) if name.isupper()}
rows = [(name, *examples.get(name, (None, None))) for name in sorted(known | set(examples))]
tclab.show(tclab.Table("Kinds of guard", "guards", ("kind", "of what", "checked"), rows))
rows = [
    (name, " ".join((inspect.getdoc(method) or "").split()) or None, place(method))
    for name, method in sorted(vars(GuardBuilder).items())
    if name.isupper() and callable(method)
]
columns = ("method", "PyTorch's description", "at")
tclab.show(tclab.Table("What Dynamo asks for", "guard-methods", columns, rows))

# claim: every-kind-that-was-seen-is-in-the-list
assert set(examples) <= known, set(examples) - known
# claim: a-tensor-is-checked-whole
assert examples["TENSOR_MATCH"][0] == "L['x']"
