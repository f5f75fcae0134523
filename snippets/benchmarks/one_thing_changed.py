"""Four slow kernels, each with one thing changed that might be what slows it.

A square norm whose numbers divide evenly over the card, instead of with a rest. The sum of columns
over more rows: launching weighs less. Rotary positions with tables of one line, which are not
fetched again for each head. Rows added in order, so that what is added to is still in the cache,
and rows added to few, which all fit into it. `share` is the time in which a copy moves the fewest
bytes, over the measured time.
"""
# tclab: needs=cuda,triton alone=true timeout=240 memory=32768

import torch
from _tables import table
from _timing import side_by_side

import tclab
from tclab.workshop.catalog.functions import kernels


def compiled_us(subject, change=None):
    """Median µs of a call, and the fewest bytes it can move."""
    torch._dynamo.reset()
    fn = subject.make(lambda f: torch.compile(f, dynamic=False))
    inputs = [change(*subject.inputs(seed)) if change else subject.inputs(seed) for seed in (0, 1)]
    (us,) = side_by_side([fn], inputs)
    tensors = (*inputs[0], fn(*inputs[0]))
    return us, sum(min(t.untyped_storage().nbytes(), t.nbytes) for t in tensors)


def one_line(q, cos, sin):
    return q, *(t[:1].expand(t.shape) for t in (cos, sin))


def in_order(x, at):
    return x, at.sort().values


def to_few(x, at):
    return x, at % 1024


def subject(name, **sizes):
    return getattr(kernels, name)("cuda", **sizes)


NORM = {"rows": 16384, "columns": 8192}
SUM = {"rows": 2**20, "columns": 64}
ROWS = {"rows": 65536, "columns": 1024}
WAYS = {
    ("full_norm", "as recorded"): (subject("full_norm", **NORM), None),
    ("full_norm", "divides evenly"): (subject("full_norm", **NORM | {"rows": 16896}), None),
    ("column_sum", "as recorded"): (subject("column_sum", **SUM), None),
    ("column_sum", "eight times the rows"): (subject("column_sum", **SUM | {"rows": 2**23}), None),
    ("rotary", "as recorded"): (subject("rotary", tokens=32768), None),
    ("rotary", "tables of one line"): (subject("rotary", tokens=32768), one_line),
    ("scatter_add", "as recorded"): (subject("scatter_add", **ROWS), None),
    ("scatter_add", "in order"): (subject("scatter_add", **ROWS), in_order),
    ("scatter_add", "to few rows"): (subject("scatter_add", **ROWS), to_few),
}
x = torch.empty(2**28, dtype=torch.uint8, device="cuda")
(copy_us,) = side_by_side([torch.clone], [(x,), (x,)])
rate = 2 * x.nbytes / copy_us  # bytes a µs, read and written
lines, shares = [], {}
for (name, way), (case, change) in WAYS.items():
    us, least = compiled_us(case, change)
    shares[name, way] = least / rate / us
    gain = shares[name, way] / shares[name, "as recorded"]
    lines.append((name, way, least / 1e6, us, 100 * shares[name, way], gain))
columns = {"kernel": "", "changed": "", "least": "MB .0f", "time": "µs .1f"}
columns |= {"share": "% .0f", "by it": "× .2f"}
caption = f"A copy of {x.nbytes / 1e6:.0f} MB moves {rate / 1e6:.2f} TB/s."
title = "One thing changed"
tclab.show(table(title, columns, lines, name="changed", caption=caption))

# claim: dividing-evenly-closes-the-gap-of-the-norm
assert shares["full_norm", "divides evenly"] > 1.2 * shares["full_norm", "as recorded"]
# claim: more-rows-bring-the-sum-of-columns-nearer
assert shares["column_sum", "eight times the rows"] > 1.1 * shares["column_sum", "as recorded"]
