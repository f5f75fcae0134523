"""A break some levels down: what each caller on the stack costs.

`inner` breaks between its two operations. Each caller above it does one operation before the call
and one after it. *Traced* is how often Dynamo read the first line of `inner`, counted by
`comptime`, which runs while Dynamo traces; a frame is read anew once a break is met.
`nested_graph_breaks` is off by default.
"""

import torch
from torch._dynamo.comptime import comptime

import tclab

traced = []


def inner(x):
    comptime(lambda ctx: traced.append(1))
    x = x.sin()
    torch._dynamo.graph_break()
    return x.cos()


def called_by(fn):
    def caller(x):
        return fn(x + 1) * 2

    return caller


def in_a_loop(x):
    for _ in range(2):
        x = inner(x + 1)
    return x * 2


def in_a_try(x):
    try:
        x = inner(x + 1)
    except ValueError:
        pass
    return x * 2


def measured(fn, nested):
    """Graphs, operations in each, reads of inner."""
    traced.clear()
    with torch._dynamo.config.patch(nested_graph_breaks=nested):
        c = tclab.capture(fn, backend="eager")(x)
    reads = len(traced)
    torch.testing.assert_close(c.result, fn(x))
    return len(c.graphs), ", ".join(str(len(g)) for g in c.graphs), reads


x = torch.linspace(0, 1, 8)
FUNCTIONS = {"inner alone": inner}
for level in range(1, 4):
    FUNCTIONS[f"{level} above it"] = called_by(list(FUNCTIONS.values())[-1])
FUNCTIONS |= {"a loop above it": in_a_loop, "a try above it": in_a_try}
rows = {name: measured(fn, False) + measured(fn, True) for name, fn in FUNCTIONS.items()}
columns = ("function", "graphs", "operations in each", "inner traced",
           "nested: graphs", "operations in each", "inner traced")  # fmt: skip
table = [(name, *row) for name, row in rows.items()]
tclab.show(tclab.Table("A break below its callers", "callers", columns, table))
straight = list(rows.values())[:4]

# claim: each-caller-costs-two-graphs
assert [row[0] for row in straight] == [2, 4, 6, 8]
# claim: of-one-operation-each
assert set(straight[3][1].split(", ")) == {"1"}
# claim: and-reads-it-once-more
assert [row[2] for row in straight] == [2, 3, 4, 5]
# claim: nested-it-is-read-no-more
assert [row[5] for row in straight] == [2] * 4
# claim: nested-breaks-leave-two
assert [row[3] for row in straight] == [2, 2, 2, 2]
assert [row[4] for row in straight] == ["1, 1", "2, 2", "3, 3", "4, 4"]
# claim: a-loop-or-a-try-above-is-given-up-either-way
assert all(row[:2] == row[3:5] == (2, "1, 1") for row in list(rows.values())[4:])
