"""Beliefs about graph breaks: what ends a graph, and what does not."""

import contextlib
import copy
import random

import numpy as np
import torch
from _beliefs import DOES_NOT, HOLDS, VERSION, Beliefs, count, graphs

beliefs, x, seen = Beliefs("What breaks a graph"), torch.ones(4), []


def unbroken(fn, *args, **options):
    """Whether a function breaks, and in how many graphs it ends; fullgraph must agree."""
    n = graphs(fn, *args, **options)
    return n > 1, count(n, "graph")


def prints(x):
    y = x.sin()
    print("")
    return y.cos()


def traced(x):
    y = x.sin()
    torch._higher_order_ops.print("")
    return y.cos()


def configured(fn, **config):
    with torch._dynamo.config.patch(config):
        return unbroken(fn, x)


printing = beliefs.judge(
    "A `print` breaks the graph",
    {
        "no option is set": unbroken(prints, x),
        "reorderable_logging_functions has it": configured(
            prints, reorderable_logging_functions={print}
        ),
        "it is torch._higher_order_ops.print": unbroken(traced, x),
    },
)
# claim: print-by-default
assert printing == "holds only if no option is set"


@contextlib.contextmanager
def doubled(x):
    yield x * 2


def appends(x):
    seen.append(x.shape)
    return x.sin()


def in_place(x):
    return x.clone().add_(1).sin()


def catches(x):
    try:
        raise ValueError
    except ValueError:
        return x.sin()


def within(x):
    with doubled(x) as y:
        return y.sin()


def generates(x):
    return sum(x + i for i in range(2)).sin()


def calls_numpy(x):
    return x + torch.from_numpy(np.sin(x.numpy()))


innocent = (appends, in_place, catches, within, generates, calls_numpy)
effects = beliefs.judge(
    "Side effects, `try`, `with`, generators and NumPy break the graph",
    {fn.__name__.replace("_", " "): unbroken(fn, x) for fn in innocent},
)
# claim: none-of-them-breaks
assert effects == DOES_NOT


def asks_the_size(x):
    return x.sin() if x.shape[0] > 16 else x.cos()


def loops(x):
    for i in range(3):
        x = (x + i).sin()
    return x


control = beliefs.judge(
    "An `if` on a size, or a `for`, breaks the graph",
    {"an if on a size": unbroken(asks_the_size, x), "a for": unbroken(loops, x)},
)
# claim: sizes-and-loops-do-not-break
assert control == DOES_NOT


def draws(x):
    random.seed(0)
    return x.sin() * random.random()


def draws_an_int(x):
    return x.sin() * random.randint(1, 1)


chance = beliefs.judge(
    "Python's random numbers break the graph",
    {"it is random.random": unbroken(draws, x), "it is random.randint": unbroken(draws_an_int, x)},
)
if VERSION < (2, 15):
    # claim: random-breaks, torch < 2.15
    assert chance == "holds only if it is random.random"
if VERSION >= (2, 15):
    # claim: random-is-traced, torch >= 2.15
    assert chance == DOES_NOT


def copies(x):
    return x.sin() * len(copy.deepcopy([1, 2]))


copying = beliefs.judge(
    "`copy.deepcopy` breaks the graph", {"it copies a list": unbroken(copies, x)}
)
if VERSION < (2, 12):
    # claim: deepcopy-broke, torch < 2.12
    assert copying == HOLDS
if VERSION >= (2, 13):
    # claim: deepcopy-is-traced, torch >= 2.13
    assert copying == DOES_NOT
beliefs.show()
