"""Four habits that avoid recompiles, each before and after.

Same calls, counted under Inductor. A count that grows with the number of calls is the illness; a
count that stays at one or two is the cure.
"""
# tclab: needs=cxx

import torch
from torch._dynamo.testing import CompileCounterWithBackend

import tclab


def f(x):
    return x.sin() + 1


class Layer(torch.nn.Module):
    step = 0  # a plain int

    def forward(self, x):
        return x * self.step


def compiles(fn, calls, **options):
    """How many compiles the calls cost. `calls` yields argument tuples."""
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("inductor")
    compiled = torch.compile(fn, backend=counter, **options)
    for args in calls:
        compiled(*args)
    return counter.frame_count


def batches(mark=False):
    for size in (8, 16, 24, 5000):
        x = torch.zeros(size)
        if mark:
            torch._dynamo.mark_dynamic(x, 0)
        yield (x,)


def steps(layer, make):
    for n in range(2, 8):
        layer.step = make(n)
        yield (torch.zeros(4),)


def grad_modes(inside):
    x = torch.zeros(4)
    yield (x,)
    with torch.no_grad() if not inside else torch.enable_grad():
        yield (x,)


layer = Layer()
unspecialised = torch._dynamo.config.patch(allow_unspec_int_on_nn_module=True)
rows = [
    ("four batch sizes", "as they come", compiles(f, batches())),
    ("four batch sizes", "mark_dynamic(x, 0)", compiles(f, batches(mark=True))),
    ("four batch sizes", "dynamic=True", compiles(f, batches(), dynamic=True)),
    ("six values of a module's int", "as it is", compiles(layer, steps(layer, int))),
    ("six values of a module's int", "held in a tensor",
     compiles(layer, steps(layer, torch.tensor))),
]  # fmt: skip
with unspecialised:
    option = "allow_unspec_int_on_nn_module"
    rows.append(("six values of a module's int", option, compiles(layer, steps(layer, int))))
rows += [
    ("training and evaluation", "one under no_grad", compiles(f, grad_modes(inside=False))),
    ("training and evaluation", "same gradient mode", compiles(f, grad_modes(inside=True))),
]
counts = [row[2] for row in rows]
# claim: a-marked-size-compiles-once
assert counts[:3] == [2, 1, 1]
# claim: a-number-in-a-tensor-compiles-once
assert counts[3:5] == [6, 1]
# claim: the-option-makes-two
assert counts[5] == 2
# claim: two-gradient-modes-two-entries
assert counts[6:] == [2, 1]

tclab.show(
    tclab.Table(title="Compiles", columns=("what changes", "how", "compiles"), rows=rows),
    name="compiles",
)
