"""Other formulas for the same function: which keep their bits, and by how much the rest differ.

Some are decomposed, some are calls into a vector library. All stand in one graph, so that there is
one kernel.
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


torch.manual_seed(0)
x = torch.rand(1 << 14) * 3
eager, exact, theirs = everything(x), everything(x.double()), compiled(everything)(x)
rows = [
    (name, 100 * differ(one, other), error(one, e), error(other, e))
    for name, one, other, e in zip(FUNCTIONS, eager, theirs, exact)
]
tclab.show(
    tclab.Table(
        title="Ten functions of float32",
        name="functions",
        columns=("function", "bits that differ", "error, eager", "error, compiled"),
        units=("", "% of the elements", "", ""),
        formats=("", ".0f", ".1e", ".1e"),
        rows=rows,
    )
)
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
