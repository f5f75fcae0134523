"""A sixth cause: a Python number that eager rounds before it adds it.

Eager's kernels on this CPU round the number of an addition to the tensor's type; Inductor takes it
as it is, up to PyTorch 2.13. Both then compute in float32 and round the result. The last columns
say how many elements have other bits than eager's: by default, with `emulate_precision_casts`, and
where the number is a tensor of the same type.
"""

import torch
from _errors import compiled, differ

import tclab

NUMBERS = (0.3, -0.1, 0.25)
TYPES = (torch.bfloat16, torch.float16, torch.float32)
CASES = [(number, dtype) for dtype in TYPES for number in NUMBERS]


def with_numbers(lows):
    return [low + number for low, (number, _) in zip(lows, CASES)]


def with_tensors(lows, rounded):
    return [low + number for low, number in zip(lows, rounded)]


torch.manual_seed(0)
x = torch.randn(1 << 14)
lows = [x.to(dtype) for _, dtype in CASES]
rounded = [torch.tensor(number, dtype=dtype) for number, dtype in CASES]
eager, by_default = with_numbers(lows), compiled(with_numbers)(lows)
first = [(low.float() + r.float()).to(low.dtype) for low, r in zip(lows, rounded)]
as_it_is = [(low.float() + n).to(low.dtype) for low, (n, _) in zip(lows, CASES)]
others = (
    by_default,
    compiled(with_numbers, emulate_precision_casts=True)(lows),
    compiled(with_tensors)(lows, rounded),
)
parts = [[100 * differ(*pair) for pair in zip(other, eager)] for other in others]
rows = [
    (number, str(dtype).removeprefix("torch."), *row)
    for (number, dtype), *row in zip(CASES, *parts)
]
columns = ("added", "type", "by default", "emulated casts", "as a tensor")
tclab.show(tclab.Table("A number, added", "added", columns, rows,
                       units=("", "", "%", "%", "%"), formats=("", "", *(".0f",) * 3)))  # fmt: skip
half = [row for row in rows if row[1] != "float32"]
inexact = [row for row in half if row[0] != 0.25]

# claim: eager-rounds-the-number-first
assert all(map(torch.equal, eager, first))
version = tuple(map(int, torch.__version__.split(".")[:2]))
if version < (2, 14):
    # claim: inductor-takes-it-as-it-is, torch < 2.14
    assert all(map(torch.equal, by_default, as_it_is))
    # claim: so-bits-differ, torch < 2.14
    assert all(row[2] > 1 for row in inexact)
    # claim: emulated-casts-do-not-cure-it, torch < 2.14
    assert all(row[3] > 1 for row in inexact)
else:
    # claim: inductor-rounds-it-too, torch >= 2.14
    assert all(map(torch.equal, by_default, eager))
# claim: a-tensor-does
assert all(row[4] == 0 for row in rows)
# claim: a-number-that-the-type-has-makes-no-difference
assert all(row[2] == 0 for row in half if row[0] == 0.25)
# claim: nor-does-float32
assert all(row[2] == 0 for row in rows if row[1] == "float32")
