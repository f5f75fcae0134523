"""Models that the default mode made slower, and what CUDA graphs make of the same code.

Both modes have about as many kernels, and launching differs: where CUDA graphs win and the default
mode loses, launching may be what costs. The LSTM has no graph: it was not compiled at all. `again`
is the gain of the default mode in the second recording; `beyond` says whether the first one's
spreads leave the loss.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl,records/h200-torch2.11/again/*.jsonl

from _recorded import by_case, recorded, speed, where
from _tables import table

import tclab

book, second = recorded(), recorded("again")
cases = by_case(book, "inference", "training")
losers = {name: rows for name, rows in cases.items() if (speed(rows, "default") or 1) < 1}
lines = []
for name, rows in sorted(losers.items()):
    gains = speed(rows, "default"), speed(rows, "reduce-overhead")
    spreads = [100 * rows[mode].spread for mode in ("eager", "default")]
    again = second.rows.get((name, "default"))
    rest = again.speed_up if again else None, "yes" if 1 - gains[0] > sum(spreads) / 100 else "no"
    graphs = rows["default"].facts["graphs"]
    lines.append((name, rows["eager"].us / 1e3, *gains, graphs, *spreads, *rest))
columns = {"model": "", "eager": "ms .2f", "default": "× .2f", "reduce-overhead": "× .2f"}
columns |= {"graphs": "", "spread, eager": "% .1f", "spread, default": "% .1f"}
columns |= {"again": "× .2f", "beyond": ""}
tclab.show(table("Slower by default", columns, lines, name="losers", caption=where(book)))

by_name = {line[0].partition("@")[0]: line for line in lines}
# claim: graphs-turn-bert-and-dlrm
assert all(by_name[f"inference/{n}"][3] > 1.5 for n in ("transformers/bert_base", "torch/dlrm"))
# claim: no-graph-of-an-lstm
assert all(by_name[f"{phase}/torch/lstm"][4] == 0 for phase in ("inference", "training"))
# claim: only-launching-costs-in-training
assert all(line[3] > 1.5 for line in lines if line[0].startswith("training/") and line[4])
beyond = [line[0] for line in lines if line[8] == "yes"]
# claim: one-loses-beyond-the-spreads
assert beyond == ["inference/transformers/wav2vec2_base@8"]
# claim: every-graph-gains-without-launches
assert all(line[3] > 1 for line in lines if line[4])
compiled, both = [cases[line[0]] for line in lines if line[4]], ("default", "reduce-overhead")
kernels = [[rows[mode].facts["kernels"] for mode in both] for rows in compiled]
# claim: about-as-many-kernels
assert all(abs(graphs / default - 1) < 0.1 for default, graphs in kernels)
# claim: bert-gains-in-the-second-recording
assert by_name["inference/transformers/bert_base"][7] > 1.5
