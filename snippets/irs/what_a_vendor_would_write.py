"""How many operators hardware has to know, level by level, for ever more activations.

Each activation's forward and backward are traced at every level. The count is of different
operators in all graphs so far: what a vendor would have to write before the activations up to here
run.
"""

import torch
import torch.nn.functional as F
from _levels import levels, operations

import tclab

NAMES = (
    "relu gelu silu mish elu selu softplus hardswish hardsigmoid hardtanh leaky_relu logsigmoid "
    "softsign tanhshrink hardshrink softshrink tanh sigmoid"
)
FUNCTIONS = [getattr(F, name) for name in NAMES.split()]


def step(fn):
    """A function of x that gives the result of `fn` and the gradient of its sum."""

    def forward_and_backward(x):
        result = fn(x)
        return result, *torch.autograd.grad(result.sum(), x)

    return forward_and_backward


x = torch.randn(4, 8, requires_grad=True)
known = {}  # level: every operator met so far
counts = {}
for fn in FUNCTIONS:
    for level, graph in levels(step(fn), x).items():
        known.setdefault(level, set()).update(operations(graph))
        counts.setdefault(level, []).append(len(known[level]))

tclab.show(
    tclab.Chart(
        title="Different operators in the graphs of the first n activations",
        name="operators",
        x=range(1, len(FUNCTIONS) + 1),
        series=counts,
        x_label="activations",
        y_label="operators",
    )
)
tclab.show(
    tclab.Table(
        title="Operators to write",
        name="to-write",
        columns=("level", "for the first", "for half of them", "for all"),
        rows=[(level, n[0], n[len(n) // 2 - 1], n[-1]) for level, n in counts.items()],
    )
)

half = len(FUNCTIONS) // 2
growth = {level: n[-1] - n[half - 1] for level, n in counts.items()}
steps = {level: list(zip(n[half - 1 :], n[half:])) for level, n in counts.items()}
newcomers = {level: sum(a < b for a, b in pairs) / half for level, pairs in steps.items()}
# claim: aten-grows-with-each-function
assert growth["ATen"] >= len(FUNCTIONS) - half and newcomers["ATen"] > 0.8
# claim: prims-hardly-grow
assert growth["Prims"] < growth["ATen"] / 2 and newcomers["Prims"] < 0.5
# claim: fewest-in-the-end
assert counts["Prims"][-1] == min(n[-1] for n in counts.values()) < counts["ATen"][-1]
# claim: one-function-needs-fewer-at-the-top
assert counts["ATen"][0] < min(n[0] for level, n in counts.items() if level != "ATen")
