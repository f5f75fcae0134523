"""Two counters that mislead.

`torch._dynamo.explain` reports graphs − 1 as its number of breaks. For a function that was
given up it reports −1. It also resets Dynamo's caches: everything compiled before is compiled
again. `counters["graph_break"]` misses an `if` on a tensor. The true number is what
Dynamo itself reported while it traced, and `fullgraph=True` is the sure test.
"""

import torch
from torch._dynamo.testing import CompileCounter
from torch._dynamo.utils import counters

import tclab


def no_break(x):
    return x.sin()


def tensor_if(x):
    y = x.sin()
    if y.sum() > 0:
        return y + 1
    return y - 1


def break_in_loop(x):
    for _ in range(3):
        x = x.sin()
        torch._dynamo.graph_break()
    return x


x = torch.ones(8)
rows = []
for fn in (no_break, tensor_if, break_in_loop):
    explained = torch._dynamo.explain(fn)(x).graph_break_count
    torch._dynamo.reset()
    counters.clear()
    c = tclab.capture(fn, backend="eager")(x)
    counted = sum(counters["graph_break"].values())
    rows.append((fn.__name__, len(c.graphs), len(c.breaks), explained, counted))

true, explained, counted = ([row[i] for row in rows] for i in (2, 3, 4))
assert true == [0, 1, 1]
assert explained == [0, 1, -1]
assert counted == [0, 0, 0]

counter = CompileCounter()
compiled = torch.compile(no_break, backend=counter)
compiled(x)
torch._dynamo.explain(tensor_if)(x)  # another function
compiled(x)
assert counter.frame_count == 2  # no_break was compiled again

tclab.show(
    tclab.Table(
        title="Breaks, by three counts",
        columns=("function", "graphs", "breaks", "explain says", "counters say"),
        rows=rows,
    ),
    name="counts",
)
