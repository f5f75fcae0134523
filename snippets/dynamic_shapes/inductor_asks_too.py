"""Inductor asks about a size, too.

Functions whose code asks nothing of a size, compiled for every size at once and called with rows
of 8, 16, 24 and 5,000 numbers: by a backend that only counts, and by Inductor for this CPU. The
guards are those of the first compile by Inductor.
"""

import torch
from torch._dynamo.testing import CompileCounter

import tclab

FUNCTIONS = {
    "x.sin()": lambda x: x.sin(),
    "x.sum(-1)": lambda x: x.sum(-1),
    "x.softmax(-1) + 1": lambda x: x.softmax(-1) + 1,
}
CALLS = [(torch.randn(3, size),) for size in (8, 16, 24, 5000)]
IN_DOUBLE = [(x.double(),) for (x,) in CALLS]


def counted(fn):
    """Compiles of all calls, with Dynamo alone."""
    torch._dynamo.reset()
    compiled = torch.compile(fn, backend=(counter := CompileCounter()), dynamic=True)
    for (x,) in CALLS:
        compiled(x)
    return counter.frame_count


def asked(capture):
    """The guards of the first compile on the rows' length, with n in its place."""
    checks = [check for guard in capture.guards[0] for check in guard.checks]
    on_length = [check for check in checks if "<= L['x'].size()[1]" in check]
    return on_length[0].replace("L['x'].size()[1]", "n")


captured = {name: tclab.capture(fn, dynamic=True).over(CALLS) for name, fn in FUNCTIONS.items()}
in_double = tclab.capture(FUNCTIONS["x.sum(-1)"], dynamic=True).over(IN_DOUBLE)
rows = [
    (name, counted(FUNCTIONS[name]), len(each.graphs), asked(each))
    for name, each in captured.items()
]
rows.append(("x.sum(-1) in float64", None, len(in_double.graphs), asked(in_double)))
columns = ("function", "compiles, Dynamo alone", "with Inductor", "guard on the length n")
tclab.show(tclab.Table("Four lengths with dynamic=True", "compiles", columns, rows))
(_, *sine), (_, *summed), (_, *softmax), (_, *double) = rows

# claim: dynamo-needs-one
assert (sine[0], summed[0], softmax[0]) == (1, 1, 1)
# claim: inductor-compiles-a-long-row-again
assert (summed[1], softmax[1]) == (2, 2)
# claim: it-guards-the-length
assert summed[2] == softmax[2] == "2 <= n <= 4096"
# claim: without-a-reduction-or-in-float64-it-does-not
assert sine[1] == double[1] == 1
