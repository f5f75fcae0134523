"""Side effects keep their count, and lose their moment.

First a counter that goes up twice a call, with and without a graph break between the two: five
calls count ten, compiled or not. Then an operator that looks at a list in the middle of a function,
between two appends. Run as plain Python it sees the first one. Compiled, both come after the graph,
so it sees none; and an error raised by the graph leaves the list as it was.
"""

import torch

import tclab

counter, seen, looked = torch.nn.Module(), [], []


def whole(x):
    counter.n += 1
    x = x.sin()
    counter.n += 1
    return x.cos()


def broken(x):
    counter.n += 1
    x = x.sin()
    torch._dynamo.graph_break()
    counter.n += 1
    return x.cos()


@torch.library.custom_op("lab::look", mutates_args=())
def look(x: torch.Tensor) -> torch.Tensor:
    looked.append(len(seen))  # what the list holds when the graph runs
    if x[0] > 5:
        raise ValueError("too big")
    return x.clone()


look.register_fake(torch.empty_like)


def two_appends(x):
    seen.append("before")
    x = look(x)
    seen.append("after")
    return x


def count(fn):
    counter.n = 0
    for _ in range(5):
        fn(torch.ones(2))
    return counter.n


def what_is_seen(fn):
    """In the middle, at the end, and what is left when the operator raises."""
    seen.clear()
    fn(torch.ones(2))
    at_the_end = len(seen)
    seen.clear()
    try:
        fn(torch.full((2,), 9.0))
    except ValueError:
        return looked[-2], at_the_end, len(seen)


fast = {fn: torch.compile(fn, backend="eager") for fn in (whole, broken, two_appends)}
counts = [(fn.__name__, count(fn), count(fast[fn])) for fn in (whole, broken)]
rows = [("plain Python", *what_is_seen(two_appends)),
        ("compiled", *what_is_seen(fast[two_appends]))]  # fmt: skip
# claim: counters-are-exact
assert [row[1:] for row in counts] == [(10, 10), (10, 10)]
# claim: effects-move-to-the-end
assert rows[0][1:3] == (1, 2) and rows[1][1:3] == (0, 2)
# claim: an-error-drops-them
assert rows[0][3] == 1 and rows[1][3] == 0

columns = ("function", "counted, plain Python", "counted, compiled")
tclab.show(tclab.Table("Two a call, five calls", "counts", columns, counts))
columns = ("how it runs", "entries seen in the middle", "at the end", "after an error")
tclab.show(tclab.Table("What the list holds when", "moments", columns, rows))
