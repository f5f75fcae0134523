"""One call without tensor work turns compilation off.

`f` returns early when there is nothing to do. A call that takes that way leaves Dynamo with an
empty graph. Dynamo then marks the function as one to leave alone: later calls run eager, even
those whose compiled code is still in the cache. No warning is given. The last column shows it:
`f` adds 100 when it runs as plain Python. With `fullgraph=True` the empty call is
kept as an entry like any other. A call that returns a symbolic size has a graph of its own;
one that returns a size that is still a constant has none.
"""

import torch
from torch._dynamo.testing import CompileCounter

import tclab


def f(x, scale):
    if scale is None:
        return x
    y = (x * scale).sin()
    return y if torch.compiler.is_compiling() else y + 100


x = torch.ones(4)


def asks_first(x, scale):  # does not call `f`, which would be compiled by itself
    if scale is None:
        return x.shape[0]
    y = (x * scale).sin()
    return y if torch.compiler.is_compiling() else y + 100


def what_ran(scales, fn=f, **options):
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(fn, backend=counter, **options)
    ran = []
    for scale in scales:
        result = compiled(x, scale)
        if scale is None:
            ran.append("returns x" if result is x else "returns its size")
        else:
            ran.append("eager" if result[0] > 50 else "compiled code")
    return ran


work_first, empty_first = (2.0, None, 2.0), (None, 2.0, 2.0)
rows = [
    ("2.0, None, 2.0", "", *what_ran(work_first)),
    ("None, 2.0, 2.0", "", *what_ran(empty_first)),
    ("2.0, None, 2.0", "fullgraph=True", *what_ran(work_first, fullgraph=True)),
    ("None, 2.0, 2.0", "fullgraph=True", *what_ran(empty_first, fullgraph=True)),
    ("2.0, None, 2.0", "dynamic=True", *what_ran(work_first, fn=asks_first, dynamic=True)),
    ("None, 2.0, 2.0", "none; returns a size", *what_ran(empty_first, fn=asks_first)),
]
# claim: an-empty-call-ends-it
assert rows[0][2:] == ("compiled code", "returns x", "eager")
# claim: also-as-the-first-call
assert rows[1][2:] == ("returns x", "eager", "eager")
# claim: not-under-fullgraph
assert rows[2][2:] == ("compiled code", "returns x", "compiled code")
# claim: not-under-fullgraph-as-the-first
assert rows[3][2:] == ("returns x", "compiled code", "compiled code")
# claim: a-symbolic-size-is-no-empty-call
assert rows[4][2:] == ("compiled code", "returns its size", "compiled code")
# claim: a-constant-size-is-one
assert rows[5][2:] == ("returns its size", "eager", "eager")

tclab.show(
    tclab.Table(
        title="What ran",
        columns=("scale, call by call", "option", "1st call", "2nd call", "3rd call"),
        rows=rows,
    ),
    name="calls",
)
