"""Size one means something else.

An addition of two rows gives a row of their size. If one of them has size one, it is broadcast,
and the result has the size of the other. That is another graph, so size one is never behind a
symbol; nor is zero, where there is nothing to compute. Each gets an entry, also with
`dynamic=True`. The backend is Inductor.
"""
# tclab: needs=cxx

import torch

import tclab


def add(x, y):
    return x + y


sizes = ((8, 8), (16, 16), (1, 16), (16, 1), (0, 0), (5000, 5000))
calls = [(torch.ones(a), torch.ones(b)) for a, b in sizes]
c = tclab.capture(add, dynamic=True).over(calls)
for (x, y), result in zip(calls, c.results):
    assert torch.equal(result, x + y)


def shape(graph, name):
    (node,) = (n for n in graph.nodes if n.name == name)
    return node.shape[0]


rows = [(g.compile_id, shape(g, "l_x_"), shape(g, "l_y_"), shape(g, "add")) for g in c.graphs]
# claim: other-sizes-share-an-entry
assert len(rows) == 4 and rows[0][1] == rows[0][2] == rows[0][3]
# claim: one-is-broadcast
assert rows[1][1] == "1" and rows[1][3] == rows[1][2] != "1"
# claim: from-either-side
assert rows[2][2] == "1" and rows[2][3] == rows[2][1] != "1"
# claim: zero-is-a-number-too
assert rows[3][1:] == ("0", "0", "0")

columns = ("entry", "size of x", "size of y", "size of the sum")
tclab.show(tclab.Table("Entries for six calls, dynamic=True", "entries", columns, rows))
