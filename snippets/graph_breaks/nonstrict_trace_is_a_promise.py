"""nonstrict_trace is a promise: nothing guards what happens inside.

Both functions multiply by a global. Dynamo reads the plain one, so a guard watches the global, and
a change compiles again. The other it does not read: the number that AOTAutograd met stays.
"""

import torch

import tclab

factor = 2


def read(x):
    return x * factor


@torch._dynamo.nonstrict_trace
def unread(x):
    return x * factor


def calls_read(x):
    return read(x) + 1


def calls_unread(x):
    return unread(x) + 1


x, rows = torch.ones(4), []
for fn in (calls_read, calls_unread):
    factor = 2
    compiled = torch.compile(fn, backend="aot_eager")
    before = compiled(x)[0].item()
    factor = 3
    rows.append((fn.__name__, before, compiled(x)[0].item(), fn(x)[0].item()))

# claim: what-is-read-is-watched
assert rows[0][1:] == (3.0, 4.0, 4.0)
# claim: what-is-unread-is-not
assert rows[1][1:] == (3.0, 3.0, 4.0)

columns = ("function", "factor 2", "factor 3, compiled", "factor 3, eager")
tclab.show(tclab.Table("A global that changes", "stale", columns, rows))
