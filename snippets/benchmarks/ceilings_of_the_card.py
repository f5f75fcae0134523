"""What the card can do: copies by size, products by kind of number, launches.

No data sheet is used: PyTorch's own copy, its own matrix product, an operator on one number. A
copy counts what it reads and what it writes. Each is measured by `tclab bench --suite ceilings`.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl

from _recorded import by_case, recorded, where
from _roof import Roof
from _tables import table

import tclab

book = recorded()
roof, rows = Roof(book), by_case(book, "ceiling")
caption = where(book)

cache = max(r["eager"].facts["cache_bytes"] for r in rows.values())
sizes = list(roof.copies)
rates = [rate / 1e12 for rate in roof.copies.values()]
axes = {"x_label": "MB read and written", "y_label": "TB/s"}
tclab.show(
    tclab.Chart(
        "A copy, by its size",
        name="copy",
        x=[size / 1e6 for size in sizes],
        series={"copy": rates},
        log_x=True,
        caption=f"{caption}. The last cache holds {cache / 1e6:.0f} MB.",
        **axes,
    )
)

best = max(rates)
# claim: small-copies-are-slow
assert all(rate < 0.5 * best for size, rate in zip(sizes, rates) if size < 10e6)
# claim: the-largest-copy-is-near-the-best
assert rates[-1] > 0.9 * best

products = sorted(roof.products.items(), key=lambda item: -item[1])
lines = [(*name.split("-"), rate / 1e12) for name, rate in products]
columns = {"numbers": "", "n": "", "rate": "TFLOP/s .0f"}
tclab.show(table("n × n products", columns, lines, name="products", caption=caption))

by_kind = {kind: float(rate) for kind, _, rate in reversed(lines)}
# claim: float64-is-as-fast-as-float32
assert abs(by_kind["float64"] / by_kind["float32"] - 1) < 0.1
# claim: narrower-numbers-are-faster
assert by_kind["float32"] < by_kind["tf32"] < by_kind["bfloat16"] < by_kind["float8"]

launch = rows["ceilings/launch@eager"]["eager"].us
nodes = rows["ceilings/launch_of_a_graph@20nodes"]["eager"].us
few = max(size for size in sizes if size < 10e6)
# claim: launching-takes-longer-than-moving
assert launch > few / best / 1e6
# claim: a-graph-launches-cheaper
assert nodes / 20 < launch
figures = [
    ("copy", best),
    ("one launch by eager PyTorch", launch),
    ("one of twenty in a graph", nodes / 20),
    ("bytes a bfloat16 product can wait for", by_kind["bfloat16"] / best),
]
units = ("TB/s", "µs", "µs", "operations a byte")
lines = [(name, value, unit) for (name, value), unit in zip(figures, units)]
columns = {"ceiling": "", "value": " .2f", "unit": ""}
tclab.show(table("In short", columns, lines, name="short", caption=caption))
