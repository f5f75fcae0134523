"""What code asks of a size, without an if.

Each line is compiled with `dynamic=True` for twelve elements, then called with two other sizes. The
guards on the size are what its operations had to know: a reshape wants a multiple, a slice enough
elements, a split how many pieces there are. The first size passes them and hits; the second does
not and compiles again. A size that is no multiple cannot be reshaped, in eager either: it is an
error.
"""

import torch

import tclab


def sine(x):
    return x.sin()


def in_pairs(x):
    return x.reshape(-1, 2)


def first_five(x):
    return x[:5] + 1


def in_threes(x):
    return [piece + 1 for piece in x.split(3)]


def asked(guards):
    """The checks on the size, with n in its place."""
    checks = [check for g in guards for check in g.checks if "size()[0]" in check]
    return "; ".join(checks).replace("L['x'].size()[0]", "n")


def compiled(fn, *sizes):
    calls = [(torch.arange(float(size)),) for size in sizes]
    return tclab.capture(fn, backend="eager", dynamic=True).over(calls)


def graphs(fn, *sizes):
    """How many graphs the sizes need. Where eager has an error, so has the compiled function."""
    try:
        return len(compiled(fn, *sizes).graphs)
    except torch._dynamo.exc.TorchRuntimeError:
        return "an error"


rows = []
for fn, hit, miss in ((sine, 13, 1), (in_pairs, 14, 13), (first_five, 13, 4), (in_threes, 11, 13)):
    guards = asked(compiled(fn, 12).guards[0])
    rows.append((fn.__name__, guards, hit, graphs(fn, 12, hit), miss, graphs(fn, 12, miss)))
asks = {name: guards for name, guards, *_ in rows}

# claim: nothing-but-two-or-more
assert asks["sine"] == "2 <= n"
# claim: a-multiple
assert "n % 2) == 0" in asks["in_pairs"]
# claim: enough-elements
assert asks["first_five"] == "5 <= n"
# claim: a-number-of-pieces
assert "// 3) == 4" in asks["in_threes"]
# claim: a-size-that-passes-hits
assert [row[3] for row in rows] == [1, 1, 1, 1]
# claim: a-size-that-fails-compiles
assert [row[5] for row in rows if row[0] != "in_pairs"] == [2, 2, 2]
# claim: what-cannot-be-reshaped-is-an-error
assert rows[1][5] == "an error"

columns = ("function", "guards for 12 elements", "size", "graphs", "size", "graphs")
tclab.show(tclab.Table("What is asked of the size n", "asked", columns, rows))
