"""Other formulas for the same function: which keep their bits, and by how much the rest differ.

Some are decomposed, some are calls into a vector library. All stand in one graph, so that there is
one kernel. An error is relative to the whole result, so near 0 it counts the digits that are left.
"""

import torch
from _errors import compiled, differ, error

import tclab

NAMES = ("sqrt", "exp", "expm1", "log1p", "sin", "tanh", "erf", "sigmoid")
FUNCTIONS = {name: getattr(torch, name) for name in NAMES} | {
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
}


def everything(x):
    return tuple(fn(x) for fn in FUNCTIONS.values())


def compared(x):
    """Name, % of the elements that differ, eager's and the compiled error, of each function."""
    results = zip(FUNCTIONS, everything(x), fn(x), everything(x.double()))
    return [
        (name, 100 * differ(one, other), error(one, exact), error(other, exact))
        for name, one, other, exact in results
    ]


def shown(title, name, rows):
    columns = ("function", "bits that differ", "error, eager", "error, compiled")
    units, formats = ("", "% of the elements", "", ""), ("", ".0f", ".1e", ".1e")
    tclab.show(tclab.Table(title, name, columns, rows, units=units, formats=formats))


torch.manual_seed(0)
fn, x = compiled(everything), torch.rand(1 << 14) * 3
rows, tiny = compared(x), compared(x * 1e-6)
eager, exact, theirs = everything(x), everything(x.double()), fn(x)
shown("Ten functions of float32, of numbers between 0 and 3", "functions", rows)
shown("The same of numbers a million times smaller", "tiny", tiny)
near_zero = {name: (ours, theirs) for name, _, ours, theirs in tiny}
same = {name for name, part, *_ in rows if part == 0}

# claim: the-compiled-square-root-is-rounded-once
assert torch.equal(theirs[0], exact[0].float()) and not torch.equal(eager[0], theirs[0])
# claim: some-are-the-same
assert len(same) >= 2
# claim: some-are-not
assert len(same) < len(FUNCTIONS)
# claim: all-are-within-float32
assert all(max(ours, theirs) < 1e-6 for _, _, ours, theirs in rows)
# claim: none-is-ten-times-worse
assert all(theirs < 10 * ours for _, _, ours, theirs in rows)
# claim: near-zero-eager-keeps-its-digits
assert all(near_zero[name][0] < 1e-6 for name in ("expm1", "erf"))
# claim: near-zero-erf-loses-its-digits
assert near_zero["erf"][1] > 1e-2
version = tuple(map(int, torch.__version__.split(".")[:2]))
if version < (2, 14):
    # claim: near-zero-expm1-loses-its-digits, torch < 2.14
    assert near_zero["expm1"][1] > 1e-2
else:
    # claim: near-zero-expm1-keeps-its-digits, torch >= 2.14
    assert near_zero["expm1"][1] < 1e-6
