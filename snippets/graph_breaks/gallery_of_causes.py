"""A gallery of causes.

Ten small functions, compiled as they are. The GB id is PyTorch's own number for this kind of
break: its registry has a page for each. Reasons and ids change between versions; that there
is a break does not, so that is what this file asserts.
"""

import logging
import os
import warnings

import torch

import tclab

warnings.simplefilter("ignore")


def python_print(x):
    y = x.sin()
    print(end="")
    return y.cos()


def logger(x):
    y = x.sin()
    logging.getLogger("lab").info("half way")
    return y.cos()


def warning(x):
    y = x.sin()
    warnings.warn("half way", stacklevel=2)
    return y.cos()


def operating_system(x):
    y = x.sin()
    os.getpid()
    return y.cos()


def tensor_if(x):
    y = x.sin()
    return y.cos() if y.sum() > 0 else y


def tensor_item(x):
    return x.sin() * x.sum().item()


def tensor_to_list(x):
    return x.sin() * x.tolist()[0]


def nonzero(x):
    return torch.nonzero(x.sin()).float().sum()


w = torch.ones(8, requires_grad=True)


def backward_inside(x):
    (x * w).sum().backward()
    return x.sin()


def asked_for(x):
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos()


x = torch.ones(8)
rows = []
for fn in (python_print, logger, warning, operating_system, tensor_if, tensor_item,
           tensor_to_list, nonzero, backward_inside, asked_for):  # fmt: skip
    torch._dynamo.reset()
    c = tclab.capture(fn, backend="eager")(x)
    torch.testing.assert_close(c.result, fn(x))
    assert len(c.breaks) >= 1, fn.__name__
    first = c.breaks.breaks[0]
    rows.append((fn.__name__, first.gb_id, first.reason.splitlines()[0], len(c.graphs),
                 sum(len(g) for g in c.graphs)))  # fmt: skip

tclab.show(
    tclab.Table(
        title="Causes",
        columns=("function", "id", "reason", "graphs", "operations in them"),
        rows=rows,
    ),
    name="causes",
)
