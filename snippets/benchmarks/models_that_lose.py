"""Models that the default mode made slower, and what CUDA graphs make of the same code.

Where CUDA graphs win and the default mode loses, the kernels are not what costs: both modes run
the same ones, and only launching differs. A model without a graph was not compiled at all.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl

from _recorded import by_case, recorded, speed, where
from _tables import table

import tclab

book = recorded()
cases = by_case(book, "inference", "training")
losers = {name: rows for name, rows in cases.items() if (speed(rows, "default") or 1) < 1}
lines = []
for name, rows in sorted(losers.items()):
    gains = speed(rows, "default"), speed(rows, "reduce-overhead")
    spreads = [100 * rows[mode].spread for mode in ("eager", "default")]
    lines.append((name, rows["eager"].us / 1e3, *gains, rows["default"].facts["graphs"], *spreads))
columns = {"model": "", "eager": "ms .2f", "default": "× .2f", "reduce-overhead": "× .2f"}
columns |= {"graphs": "", "spread, eager": "% .1f", "spread, default": "% .1f"}
tclab.show(table("Slower by default", columns, lines, name="losers", caption=where(book)))

by_name = {line[0].partition("@")[0]: line for line in lines}
# claim: graphs-turn-bert-and-dlrm
assert all(by_name[f"inference/{n}"][3] > 1.5 for n in ("transformers/bert_base", "torch/dlrm"))
# claim: no-graph-of-an-lstm
assert all(by_name[f"{phase}/torch/lstm"][4] == 0 for phase in ("inference", "training"))
# claim: only-launching-costs-in-training
assert all(line[3] > 1.5 for line in lines if line[0].startswith("training/") and line[4])
