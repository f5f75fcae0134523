"""Beliefs about graph breaks: what ends a graph, and what does not."""

import contextlib
import copy
import os
import random

import numpy as np
import torch
from _beliefs import DOES_NOT, HOLDS, VERSION, Beliefs, count, graphs, transformer_layer

beliefs, x, seen = Beliefs("What breaks a graph"), torch.ones(4), []


def tried(fn, *args, **options):
    """Whether `fullgraph=True` refuses a function, and in how many graphs it ends without.

    A function that is given up has no graph, or one: the number alone would not tell.
    """
    n = graphs(fn, *args, **options)
    torch._dynamo.reset()
    try:
        torch.compile(fn, backend="eager", fullgraph=True, **options)(*args)
    except torch._dynamo.exc.Unsupported:
        return True, count(n, "graph")
    assert n == 1, n
    return False, count(n, "graph")


def prints(x):
    y = x.sin()
    print("")
    return y.cos()


def prints_a_list(x):
    y = x.sin()
    print([1, 2])
    return y.cos()


def traced(x):
    y = x.sin()
    torch._higher_order_ops.print("")
    return y.cos()


layer, tokens = transformer_layer(), torch.ones(1, 4, 16)


def a_layer_that_prints(x):
    y = layer(x)
    print("")
    return y + 1


def configured(fn, **config):
    with torch._dynamo.config.patch(config):
        return tried(fn, x)


printing = beliefs.judge(
    "A `print` breaks the graph",
    {
        "no option is set": tried(prints, x),
        "no option is set, after a transformer layer": tried(a_layer_that_prints, tokens),
        "reorderable_logging_functions has it": configured(
            prints, reorderable_logging_functions={print}
        ),
        "reorderable_logging_functions has it, and a list is printed": configured(
            prints_a_list, reorderable_logging_functions={print}
        ),
        "it is torch._higher_order_ops.print": tried(traced, x),
    },
)
# claim: print-by-default
assert printing == (
    "holds only if no option is set or no option is set, after a transformer layer"
    " or reorderable_logging_functions has it, and a list is printed"
)


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


def opens_a_file(x):
    with open(os.devnull):
        return x.sin()


def interpolates_in_numpy(x):
    return torch.from_numpy(np.interp(x.sin().numpy(), [0.0, 1.0], [0.0, 2.0]))


batch_norm = torch.nn.BatchNorm1d(4)


def updates_a_running_mean(x):
    return batch_norm(x.expand(2, 4)) * 0 + x


tries = (appends, in_place, updates_a_running_mean, catches, within, generates, calls_numpy)
tries += (opens_a_file, interpolates_in_numpy)
effects = beliefs.judge(
    "Side effects, `try`, `with`, generators and NumPy break the graph",
    {fn.__name__.replace("_", " "): tried(fn, x) for fn in tries},
)
# claim: few-of-them-break
assert effects == "holds only if opens a file or interpolates in numpy"


def asks_the_size(x):
    return x.sin() if x.shape[0] > 16 else x.cos()


def loops(x):
    for i in range(3):
        x = (x + i).sin()
    return x


deep = torch.nn.ModuleList(transformer_layer() for _ in range(2))


def a_stack_of_layers(x):
    if x.size(1) > 512:
        x = x[:, :512]
    for each in deep:
        x = each(x)
    return x


control = beliefs.judge(
    "An `if` on a size, or a `for`, breaks the graph",
    {
        "an if on a size": tried(asks_the_size, x),
        "a for": tried(loops, x),
        "both in a stack of transformer layers": tried(a_stack_of_layers, tokens),
    },
)
# claim: sizes-and-loops-do-not-break
assert control == DOES_NOT


def draws(x):
    drawn = x * random.random()
    return torch.where(x > 0, x.sin(), drawn)  # whatever is drawn, eager's result


def draws_an_int(x):
    return x.sin() * random.randint(1, 1)


chance = beliefs.judge(
    "Python's random numbers break the graph",
    {"it is random.random": tried(draws, x), "it is random.randint": tried(draws_an_int, x)},
)
if VERSION < (2, 14):
    # claim: random-breaks, torch < 2.14
    assert chance == "holds only if it is random.random"
if VERSION >= (2, 14):
    # claim: random-is-traced, torch >= 2.14
    assert chance == DOES_NOT


def copies(x):
    return x.sin() * len(copy.deepcopy([1, 2]))


def copies_a_dict(x):
    return x.sin() * len(copy.deepcopy({"sizes": [1, 2]}))


def copies_a_tensor(x):
    return copy.deepcopy(x.sin())


def copies_a_list_with_a_tensor(x):
    return copy.deepcopy([x.sin()])[0]


def copies_a_layer(x):
    return copy.deepcopy(layer)(x)


copying = beliefs.judge(
    "`copy.deepcopy` breaks the graph",
    {
        "it copies a list of numbers": tried(copies, x),
        "it copies a dictionary of them": tried(copies_a_dict, x),
        "it copies a tensor": tried(copies_a_tensor, x),
        "it copies a list with a tensor": tried(copies_a_list_with_a_tensor, x),
        "it copies a transformer layer": tried(copies_a_layer, tokens),
    },
)
if VERSION < (2, 12):
    # claim: deepcopy-broke, torch < 2.12
    assert copying == HOLDS
if VERSION >= (2, 13):
    # claim: deepcopy-is-traced, torch >= 2.13
    assert copying == (
        "holds only if it copies a tensor or it copies a list with a tensor"
        " or it copies a transformer layer"
    )
beliefs.show()
