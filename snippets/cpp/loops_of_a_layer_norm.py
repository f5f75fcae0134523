"""The loops of a layer norm on a CPU, and `where` with a number or a tensor without axes.

Each loop over the rows is counted, and each loop over a row inside of it.
"""

import re

import torch
import torch.nn.functional as F

import tclab

ROWS, COLUMNS = 64, 256


def layer_norm(x, weight, bias):
    return F.layer_norm(x, (COLUMNS,), weight, bias)


def softmax(x, weight, bias):
    return torch.softmax(x, -1)


def where_a_number(x, least):
    return torch.where(x > 0, x, 2.0)


def where_a_new_tensor(x, least):
    return torch.where(x > 0, x, torch.tensor(2.0))


def where_a_tensor(x, least):
    return torch.where(x > 0, x, least)


def kernel(fn, *args):
    c = tclab.capture(fn, options={"cpp.threads": 1})(*args)
    torch.testing.assert_close(c.result, fn(*args))
    (only,) = c.kernels
    return only


def loops(code):
    """How many loops go over the rows, and how many over a row."""
    return tuple(
        len(re.findall(rf"for\(.*{index}<static_cast<int64_t>\({size}L\)", code))
        for index, size in (("x0", ROWS), ("x1", COLUMNS))
    )


torch.set_grad_enabled(False)
x, weight, bias = torch.randn(ROWS, COLUMNS), torch.randn(COLUMNS), torch.randn(COLUMNS)
norm, soft = (kernel(fn, x, weight, bias) for fn in (layer_norm, softmax))
number, new, tensor = (
    kernel(fn, x, torch.tensor(2.0)).code
    for fn in (where_a_number, where_a_new_tensor, where_a_tensor)
)
tclab.show(norm, name="layer_norm")
columns = ("function", "loops over the rows", "loops over a row")
table = [("layer_norm", *loops(norm.code)), ("softmax", *loops(soft.code))]
tclab.show(tclab.Table("Loops in one function", "loops", columns, table))
# claim: rows-are-gone-over-more-than-once, torch >= 2.12
assert loops(norm.code)[0] > loops(soft.code)[0] == 1
# claim: both-go-over-a-row-three-times, torch >= 2.12
assert loops(norm.code)[1] == loops(soft.code)[1] == 3
# claim: a-number-or-a-new-tensor-is-in-the-code
assert all("static_cast<float>(2.0)" in code and "in_ptr1" not in code for code in (number, new))
# claim: a-tensor-without-axes-is-read-at-each-step
assert re.findall(r"in_ptr1\[.*\]", tensor) and "static_cast<float>(2.0)" not in tensor
