"""Counting with a size compiles each size; the fix is an operation.

A loop over `range(x.shape[0])` is unrolled, so its count must be a number: `dynamic=True` does not
help, and says nothing. The same sums as one operation have a symbol in them, and one compile
serves these sizes, by Inductor, too.
"""
# tclab: needs=cxx

import torch

import tclab


def loop(x):
    total = torch.zeros(())
    for i in range(x.shape[0]):
        total = total + i * x[i]
    return total


def operation(x):
    return (torch.arange(x.shape[0]) * x).sum()


calls = [(torch.arange(float(size)),) for size in (4, 5, 6, 7)]
rows = []
for fn in (loop, operation):
    c = tclab.capture(fn, dynamic=True).over(calls)
    for result, (x,) in zip(c.results, calls):
        torch.testing.assert_close(result, loop(x))
    rows.append((fn.__name__, len(c.graphs), len(c.graphs[0]), len(c.graphs[-1])))

# claim: a-loop-compiles-each-size
assert rows[0][1] == 4
# claim: and-grows-with-it
assert rows[0][3] > rows[0][2]
# claim: an-operation-compiles-once
assert rows[1][1] == 1

columns = ("function", "graphs for four sizes", "operations in the first", "in the last")
tclab.show(tclab.Table("dynamic=True, sizes 4 to 7", "graphs", columns, rows))
