"""The order of a sum: who is closer, drawn anew twenty times.

Eager and compiled add the same numbers in orders of their own: all of them to one sum, and in
rows of 256. Where every partial sum fits into a float32, as with small whole numbers, no order can
matter. One thread, since each would have a sum of its own.
"""

import torch
from _errors import compiled, error

import tclab

N, ROW, DRAWS = 1 << 16, 256, 20
KINDS = {
    "between 0 and 1": lambda: torch.rand(N),
    "around 0": lambda: torch.randn(N),
    "whole numbers below 8": lambda: torch.randint(0, 8, (N,)).float(),
}


def sums(x):
    return x.sum(), x.view(-1, ROW).sum(-1)


def drawn(draw):
    """For each of the two results, twenty pairs of errors: eager's and compiled's."""
    pairs = []
    for _ in range(DRAWS):
        x = draw()
        results = zip(sums(x), fn(x), sums(x.double()))
        pairs.append([(error(ours, e), error(theirs, e)) for ours, theirs, e in results])
    return zip(*pairs)


torch.set_num_threads(1)
torch.manual_seed(0)
fn, rows = compiled(sums), {}
for kind, draw in KINDS.items():
    for shape, pairs in zip(("one sum", "rows"), drawn(draw)):
        closer = [sum(a < b for a, b in pairs), sum(b < a for a, b in pairs)]
        rows[kind, shape] = (*closer, *(max(column) for column in zip(*pairs)))

tclab.show(
    tclab.Table(
        title=f"{N:,} numbers, {DRAWS} draws",
        name="draws",
        columns=(
            "numbers",
            "summed to",
            "eager closer",
            "compiled closer",
            "largest error, eager",
            "largest error, compiled",
        ),
        formats=("", "", "d", "d", ".1e", ".1e"),
        rows=[(*key, *row) for key, row in rows.items()],
    )
)
sums_of = {shape: rows["between 0 and 1", shape] for shape in ("one sum", "rows")}

# claim: eager-is-closer-in-a-long-sum
assert all(rows[kind, "one sum"][0] > DRAWS / 2 for kind in ("between 0 and 1", "around 0"))
# claim: in-short-rows-both-err-alike
assert max(sums_of["rows"][2:]) < 4 * min(sums_of["rows"][2:])
# claim: whole-numbers-are-exact-in-any-order
assert all(rows["whole numbers below 8", shape] == (0, 0, 0, 0) for shape in sums_of)
# claim: both-are-near
assert all(max(row[2:]) < 1e-5 for row in sums_of.values())
# claim: cancelling-makes-it-worse
assert all(a > b for a, b in zip(rows["around 0", "one sum"][2:], sums_of["one sum"][2:]))
