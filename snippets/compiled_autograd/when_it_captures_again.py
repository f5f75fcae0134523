"""Three steps or four, and how often the backward is captured and compiled.

A capture follows the autograd graph of one call, before anything is compiled. It is kept, and
looked up at each backward by what the graph consists of.
"""

import inspect

import torch
from _steps import one_product, trained

import tclab


def drop(w, call):
    w.grad = None


def keep(w, call):
    """The gradient stays, and the next is added to it."""


def add_a_hook(w, call):
    w.grad = None
    if call == 1:
        w.register_hook(lambda gradient: gradient * 3)


def counting(w):
    calls = [0]

    def count(gradient):
        calls[0] += 1
        return gradient * calls[0]

    w.register_hook(count)


def spelling(w):
    letters = [""]

    def spell(gradient):
        letters[0] += "x"
        return gradient * len(letters[0])

    w.register_hook(spell)


CASES = {
    "gradient dropped each time": {"between": drop, "sizes": (2, 2, 2)},
    "gradient kept": {"between": keep, "sizes": (2, 2, 2)},
    "a hook added after the first": {"between": add_a_hook, "sizes": (2, 2, 2)},
    "a hook that counts": {"between": drop, "before": counting, "sizes": (2, 2, 2)},
    "a hook that adds to a string": {"between": drop, "before": spelling, "sizes": (2, 2, 2)},
    "four sizes": {"between": drop, "sizes": (2, 3, 4, 5)},
}
runs = {name: trained(one_product, True, **case) for name, case in CASES.items()}
columns = ("steps", "captures", "backwards compiled", "of AOTAutograd, not used")
rows = [
    (name, run.captures, len(run.of("other")), len(run.of("backward")))
    for name, run in runs.items()
]
tclab.show(tclab.Table("Captured, and compiled", "captures", columns, rows))
captures = {name: row for name, *row in rows}

# claim: one-for-equal-steps
assert captures["gradient dropped each time"] == [1, 1, 0]
# claim: another-where-there-is-a-gradient
assert captures["gradient kept"][:2] == [2, 2]
# claim: zero-grad-drops-it-by-default
assert inspect.signature(torch.optim.Optimizer.zero_grad).parameters["set_to_none"].default
# claim: a-later-hook-is-seen
assert captures["a hook added after the first"][:2] == [2, 2]
# claim: a-hook-that-counts-compiles-again
assert captures["a hook that counts"][:2] == [1, 2]
# claim: a-hook-with-a-string-compiles-each-time
assert captures["a hook that adds to a string"][:2] == [1, 3]
# claim: sizes-settle
assert 1 < captures["four sizes"][1] < 4
# claim: a-backward-for-nothing
assert captures["four sizes"][2] == 1
# claim: all-gradients-are-right
assert all(run.captures and run.right for run in runs.values())
