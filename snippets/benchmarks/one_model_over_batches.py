"""Eager, compiled, with CUDA graphs, autotuned: one model at batch 1 to 4096.

Eight feed-forward blocks of width 1024 in bfloat16. A mode is left out where it was not measured.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl

from _recorded import MODES, by_case, recorded, speed, where
from _roof import Roof
from _tables import table

import tclab

book = recorded()
cases, caption = by_case(book, "sweep"), where(book)
batches = {int(name.rpartition("@")[2]): rows for name, rows in cases.items()}
batches = dict(sorted(batches.items()))

series = {
    mode: [rows[mode].us if mode in rows else None for rows in batches.values()]
    for mode in ("eager", *MODES)
}
series = {mode: times for mode, times in series.items() if any(times)}
axes = {"x_label": "batch size (rows)", "y_label": "µs for one forward"}
axes |= {"log_x": True, "log_y": True}
title = "Time over batch size"
tclab.show(tclab.Chart(title, name="times", x=batches, series=series, caption=caption, **axes))

lines = []
for batch, rows in batches.items():
    gains = [speed(rows, mode) for mode in MODES]
    calls = [rows[mode].break_even if mode in rows else None for mode in MODES]
    lines.append((batch, rows["eager"].us, *gains, *calls))
columns = {"batch": "", "eager": "µs .0f", **dict.fromkeys(MODES, "× .2f")}
columns |= {f"{mode} pays after": "calls ,d" for mode in MODES}
tclab.show(table("Gain and break-even", columns, lines, name="gains", caption=caption))

least, most = min(batches), max(batches)
graphs = batches[least]["reduce-overhead"].us, batches[64]["reduce-overhead"].us
by_graphs = {batch: speed(rows, "reduce-overhead") for batch, rows in batches.items()}
# claim: graphs-help-most-at-batch-one
assert by_graphs[least] == max(by_graphs.values()) > 4 * by_graphs[most]
# claim: the-modes-come-together
assert all(abs(speed(batches[most], mode) - 1) < 0.1 for mode in MODES[:2])
# claim: flat-for-graphs-too
assert graphs[1] < 1.25 * graphs[0]
weights = 8 * 2 * 4 * 1024 * 1024 * 2  # two matrices a block, bfloat16
fetched = weights / max(Roof(book).copies.values()) * 1e6
node = by_case(book, "ceiling")["ceilings/launch_of_a_graph@20nodes"]["eager"].us / 20
launched = (16 + batches[least]["reduce-overhead"].facts["kernels"]) * node  # two products a block
# claim: neither-launching-nor-fetching
assert graphs[0] > 3 * max(fetched, launched)
tclab.show(
    table(
        "Batch 1",
        {"": "", "time": "µs .0f"},
        [("graphs", graphs[0]), ("fetching", fetched), ("launching", launched)],
        name="least",
    )
)
