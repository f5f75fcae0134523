"""Recompute instead of save: the budget.

`activation_memory_budget` says how much of the default plan's memory the partitioner may use:
1.0 is the default, 0.0 saves the inputs only and computes the rest again. The backward then holds
operations that the forward also holds. You trade time for memory. The bytes are storages that are
saved and that no argument owns: a view of a weight, such as `t_1` in the graph, costs nothing.
The last row asks for less memory when the function is compiled already.
"""

import torch
from _saved import activations, saved
from torch._functorch import config

import tclab


def f(x, w1, w2):
    h = torch.relu(x @ w1)
    return torch.sigmoid(h @ w2).sum()


torch.manual_seed(0)
x = torch.randn(256, 64)
w1 = torch.randn(64, 128, requires_grad=True)
w2 = torch.randn(128, 32, requires_grad=True)
args = (x, w1, w2)


def budget(number):
    return config.patch(activation_memory_budget=number)


def held(compiled):
    """Bytes of activations that a call of a compiled function holds; gradients checked."""
    storages, gradients = saved(compiled, *args)
    torch.testing.assert_close(gradients, saved(f, *args)[1])
    return activations(storages, *args)


rows, backwards = [], {}
for number in (1.0, 0.9, 0.5, 0.0):
    with budget(number):
        backward = tclab.capture(f, backward=True, backend="aot_eager")(*args).backward[0]
        torch._dynamo.reset()
        kept = held(torch.compile(f, backend="aot_eager"))
    products = sum("aten.mm" in node.target for node in backward.nodes)
    rows.append((str(number), kept, len(backward), products))
    backwards[number] = backward

torch._dynamo.reset()
compiled = torch.compile(f, backend="aot_eager")
compiled(*args)
with budget(0.0):
    rows.append(("0.0, set after the first call", held(compiled), None, None))


def kept_alike(number):
    """The part of the elements that dropout keeps, or does not, in forward and backward alike."""
    torch._dynamo.reset()
    ones = torch.ones(1000, requires_grad=True)
    with budget(number):
        dropped = torch.compile(dropout, backend="aot_eager_decomp_partition")(ones)
        dropped.sum().backward()
    return ((dropped != 0) == (ones.grad != 0)).float().mean()


def dropout(x):
    return torch.nn.functional.dropout(x.sin(), 0.5)


full, most, half, none, late = rows
# claim: less-is-saved
assert full[1] > half[1] > none[1] == 0
# claim: in-steps
assert full[1] > most[1] == half[1]
# claim: more-is-computed
assert full[2] < half[2] < none[2]
# claim: the-products-are-done-again
assert none[3] == full[3] + 2
# claim: too-late-after-the-first-call
assert late[1] == full[1]
# claim: a-dropout-is-drawn-again
assert kept_alike(1.0) == 1 and max(map(kept_alike, (0.9, 0.5, 0.0))) < 0.7

tclab.show(
    tclab.Table(
        title="Memory against work",
        columns=("budget", "activations saved", "operations in the backward", "products in it"),
        units=("", "bytes", "", ""),
        formats=("", ",d", "", ""),
        rows=rows,
    ),
    name="budget",
)
tclab.show(backwards[1.0], name="backward-full-budget")
tclab.show(backwards[0.0], name="backward-no-budget")
