"""`or` and `and` between tensors in an `if`, compiled with Inductor.

Each function is called three times: both tests true, both false, the first false and the second
true.
"""
# tclab: needs=cxx timeout=180

import torch

import tclab


def with_or(x):
    if x.sum() > 3 or x[0] > 2:
        return x + 1
    return x - 1


def with_and(x):
    if x.sum() > 3 and x[0] > 2:
        return x + 1
    return x - 1


def with_bar(x):
    if (x.sum() > 3) | (x[0] > 2):
        return x + 1
    return x - 1


def cond_with_bar(x):
    return torch.cond((x.sum() > 3) | (x[0] > 2), lambda x: x + 1, lambda x: x - 1, (x,))


def captured(fn):
    torch._dynamo.reset()
    c = tclab.capture(fn).over([(x,) for x in INPUTS])
    torch.testing.assert_close(c.results, [fn(x) for x in INPUTS])
    return fn.__name__, len(c.graphs), len(c.breaks)


INPUTS = [torch.tensor(values) for values in ([9.0, 9.0], [0.0, 0.0], [3.0, -5.0])]
rows = [captured(fn) for fn in (with_or, with_and, with_bar, cond_with_bar)]
found = {name: tuple(rest) for name, *rest in rows}
# claim: or-and-and-are-two-breaks
assert found["with_or"] == found["with_and"] == (4, 2)
# claim: a-bar-is-one-break
assert found["with_bar"] == (3, 1)
# claim: cond-of-a-bar-is-none
assert found["cond_with_bar"] == (1, 0)
columns = ("function", "graphs", "breaks")
tclab.show(tclab.Table("Three calls of each", "ifs", columns, rows))
