"""Causes: the order matters to the outside, or autograd is run in the middle.

A message must come at its place; a backward needs a graph that is not finished. Let the graph
print, speak only where nothing is compiled, and take gradients with `torch.func`, or outside.
"""

import logging
import sys
import warnings

import torch
from _gallery import COLUMNS, gallery, unbroken, unmended

import tclab

warnings.simplefilter("ignore")
log = logging.getLogger("lab")
w = torch.full((4,), 2.0, requires_grad=True)


def a_print(x):
    y = x.sin()
    print("half way")
    return y.cos()


def a_print_in_the_graph(x):
    y = x.sin()
    torch._higher_order_ops.print("half way")
    return y.cos()


def a_write(x):
    y = x.sin()
    sys.stderr.write("half way\n")
    return y.cos()


def a_logger(x):
    y = x.sin()
    log.info("half way")
    return y.cos()


def a_warning(x):
    y = x.sin()
    warnings.warn("half way", stacklevel=2)
    return y.cos()


def only_in_eager(x):
    y = x.sin()
    if not torch.compiler.is_compiling():
        log.info("half way")
    return y.cos()


def a_backward(x):
    (x * w).sum().backward()
    return x.sin()


def the_loss(x):  # the caller calls backward, on the loss of another function
    return x.sin()


def autograd_grad(x):
    return torch.autograd.grad((x * w).square().sum(), w)[0]


def func_grad(x):
    return torch.func.grad(lambda w: (x * w).square().sum())(w.detach())


def requires_grad(x):
    return x.requires_grad_().sin()


def requires_grad_before(x):
    return x.sin()


def asked_for(x):
    torch._dynamo.graph_break()
    return x.sin()


rows = gallery(
    [(a_print, a_print_in_the_graph), (a_write, only_in_eager), (a_logger, only_in_eager),
     (a_warning, only_in_eager), (a_backward, the_loss), (autograd_grad, func_grad),
     (requires_grad, requires_grad_before), (asked_for, the_loss)],
    torch.arange(4.0),
)  # fmt: skip
# claim: each-breaks
assert not unbroken(rows), unbroken(rows)
# claim: each-is-mended
assert not unmended(rows), unmended(rows)
tclab.show(tclab.Table("Order and autograd", "causes", COLUMNS, rows))
