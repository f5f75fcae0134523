"""Two counters that mislead.

`torch._dynamo.explain` reports graphs − 1 as its number of breaks. That is right for a plain
`print`, and −1 for a function that was given up. It also resets Dynamo's caches: everything
compiled before is compiled again. `counters["graph_break"]` counts the `print` and misses an `if`
on a tensor. The true number is what Dynamo itself reported while it traced.
`fullgraph=True` raises for each of these that breaks.
"""

import torch
from torch._dynamo.testing import CompileCounter
from torch._dynamo.utils import counters

import tclab


def no_break(x):
    return x.sin()


def one_print(x):
    y = x.sin()
    print(end="")
    return y.cos()


def tensor_if(x):
    y = x.sin()
    return y + 1 if y.sum() > 0 else y - 1


def break_in_loop(x):
    for _ in range(3):
        x = x.sin()
        torch._dynamo.graph_break()
    return x


def breaks_under_fullgraph(fn):
    try:
        tclab.capture(fn, backend="eager", fullgraph=True)(torch.ones(8))
    except torch._dynamo.exc.Unsupported:
        return True
    return False


x, rows = torch.ones(8), {}
for fn in (no_break, one_print, tensor_if, break_in_loop):
    explained = torch._dynamo.explain(fn)(x).graph_break_count
    torch._dynamo.reset()
    counters.clear()
    c = tclab.capture(fn, backend="eager")(x)
    counted = sum(counters["graph_break"].values())
    strict = breaks_under_fullgraph(fn)
    rows[fn.__name__] = len(c.graphs), len(c.breaks), strict, explained, counted

compiled = torch.compile(no_break, backend=(counter := CompileCounter()))
compiled(x)
once = counter.frame_count
torch._dynamo.explain(tensor_if)(x)  # another function
compiled(x)
# claim: a-print-is-counted-by-all
assert rows["one_print"] == (2, 1, True, 1, 1)
# claim: explain-counts-graphs-less-one
assert all(row[3] == row[0] - 1 for row in rows.values())
# claim: minus-one-for-a-function-given-up
assert rows["break_in_loop"][:2] == (0, 1) and rows["break_in_loop"][3] == -1
# claim: counters-miss-a-tensor-if
assert rows["tensor_if"][1] == 1 and rows["tensor_if"][4] == 0
# claim: fullgraph-is-sure
assert [row[2] for row in rows.values()] == [row[1] > 0 for row in rows.values()]
# claim: explain-resets-the-caches
assert (once, counter.frame_count) == (1, 2)

columns = ("function", "graphs", "breaks", "fullgraph raises", "explain says", "counters say")
table = [(name, *row) for name, row in rows.items()]
tclab.show(tclab.Table("Breaks, by four counts", "counts", columns, table))
