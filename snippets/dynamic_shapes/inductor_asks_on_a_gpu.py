"""What Inductor asks about a size, on a GPU.

The functions of *Inductor asks too* with tensors on a GPU, compiled for every size at once and
called with rows of 8, 16, 24, 5,000 and 70,000 numbers: by a backend that only counts, and by
Inductor.
"""
# tclab: needs=cuda timeout=300

import torch
from torch._dynamo.testing import CompileCounter

import tclab

FUNCTIONS = {
    "x.sin()": lambda x: x.sin(),
    "x.sum(-1)": lambda x: x.sum(-1),
    "x.softmax(-1) + 1": lambda x: x.softmax(-1) + 1,
}
CALLS = [(torch.randn(3, size, device="cuda"),) for size in (8, 16, 24, 5000, 70_000)]


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
    return "; ".join(on_length).replace("L['x'].size()[1]", "n")


captured = {name: tclab.capture(fn, dynamic=True).over(CALLS) for name, fn in FUNCTIONS.items()}
rows = [
    (name, counted(FUNCTIONS[name]), len(each.graphs), asked(each))
    for name, each in captured.items()
]
columns = ("function", "compiles, Dynamo alone", "with Inductor", "guard on the length n")
tclab.show(tclab.Table("Five lengths with dynamic=True, on a GPU", "compiles", columns, rows))

# claim: dynamo-needs-one
assert {alone for _, alone, _, _ in rows} == {1}
# claim: no-limit-on-the-length-here
assert {(number, guard) for _, _, number, guard in rows} == {(1, "2 <= n")}
