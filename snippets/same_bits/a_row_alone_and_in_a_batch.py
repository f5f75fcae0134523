"""The same row alone and in a batch of 64: whether its results have the same bits.

Five functions of a row, compiled together with Inductor on this CPU. Of each number of rows the
first rows of the batch are calculated by themselves, and compared with those of the batch.
"""
# tclab: needs=cxx timeout=180

import torch
from torch.nn.functional import layer_norm, linear, pad

import tclab


def results(x):
    return (
        linear(x, weight),
        x.softmax(-1),
        x.sum(-1),
        layer_norm(x, x.shape[-1:]),
        x * x.sigmoid() + 1,
    )


def same(call, number, batch):
    """For each result, whether those of the first rows are the batch's, bit for bit."""
    alone = call(x[:number].clone())
    return [torch.equal(a, b[:number]) for a, b in zip(alone, batch)]


def padded(rows):
    """The rows in a batch of the one size that was compiled."""
    filled = fixed(pad(rows, (0, 0, 0, ROWS - len(rows))))
    return [result[: len(rows)] for result in filled]


torch.set_num_threads(1)
torch.manual_seed(0)
ROWS, SIZE = 64, 777
NAMES = ("linear", "softmax", "sum", "layer_norm", "x * sigmoid(x) + 1")
x, weight = torch.randn(ROWS, SIZE), torch.randn(SIZE, SIZE) / SIZE**0.5
eager = results(x)
by_eager = {number: same(results, number, eager) for number in range(1, ROWS)}
fixed = torch.compile(results, dynamic=False)
batch = fixed(x)
by_padded = [same(padded, number, batch) for number in range(1, ROWS)]
with torch._dynamo.config.patch(recompile_limit=1):  # one size is compiled by now
    third = fixed(x[:33].clone())
past_the_limit = [torch.equal(a, b) for a, b in zip(third, results(x[:33].clone()))]
compiled_there = [torch.equal(a, b[:33]) for a, b in zip(third, batch)]
torch._dynamo.reset()
varying = torch.compile(results, dynamic=True)
many = varying(x)
by_varying = {number: same(varying, number, many) for number in range(1, ROWS)}

# claim: eagers-product-depends-on-the-number-of-rows
assert not all(found[0] for found in by_eager.values())
# claim: so-does-the-compiled-product
assert not all(found[0] for found in by_varying.values())
# claim: compiled-for-varying-sizes-all-but-the-product-keep-their-bits
assert all(all(by_varying[number][1:]) for number in range(2, ROWS))
# claim: padded-to-one-size-all-keep-their-bits
assert all(map(all, by_padded))
# claim: past-the-limit-the-bits-are-eagers
assert all(past_the_limit)
# claim: which-are-not-the-compiled-ones
assert not all(compiled_there)

SHOWN = (1, 2, 3, 4, 33)
rows = [(f"eager, {number}", *by_eager[number]) for number in SHOWN]
rows += [(f"dynamic=True, {number}", *by_varying[number]) for number in SHOWN]
rows += [("padded to 64, each of 1 to 63", *map(all, zip(*by_padded)))]
columns = ("how, and how many rows", *NAMES)
tclab.show(tclab.Table("The bits of the same rows in a batch of 64", "rows", columns, rows))
