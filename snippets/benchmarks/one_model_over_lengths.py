"""An encoder over texts of 64 to 4096 tokens: each length compiled for itself, or `dynamic`.

Six of PyTorch's own layers of width 512, four texts, bfloat16; in inference each layer is one
operator. `dynamic` is `torch.compile(dynamic=True)`: PyTorch 2.11 does not trace that operator
with symbols, so no layer of it is compiled. Each was measured in a process of its own.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl

from _recorded import by_case, recorded, speed, where
from _tables import table

import tclab

MODES = ("default", "dynamic", "reduce-overhead")
book = recorded()
cases, caption = by_case(book, "length"), where(book)
lengths = {int(name.rpartition("@")[2]): rows for name, rows in cases.items()}
lengths = dict(sorted(lengths.items()))
lines = []
for length, rows in lengths.items():
    gains = [speed(rows, mode) for mode in MODES]
    spread = 100 * max(rows[mode].spread for mode in ("eager", *MODES[:2]))
    lines.append((length, rows["eager"].us, *gains, spread, 100 * rows["reduce-overhead"].spread))
columns = {"tokens": "", "eager": "µs .0f", **dict.fromkeys(MODES, "× .2f")}
columns |= {"spread": "% .1f", "with CUDA graphs": "% .1f"}
tclab.show(table("Gain over length", columns, lines, name="gains", caption=caption))
WAYS = ("eager", *MODES)
first = [(length, *(rows[m].facts["first_s"] for m in WAYS)) for length, rows in lengths.items()]
first.append(("all four", *map(sum, list(zip(*first))[1:])))
columns = {"tokens": "", **dict.fromkeys(WAYS, "s .1f")}
tclab.show(table("Seconds of the first call", columns, first, name="first", caption=caption))
series = {mode: [rows[mode].us for rows in lengths.values()] for mode in ("eager", *MODES)}
axes = {"x_label": "tokens a text", "y_label": "µs for one forward", "log_x": True, "log_y": True}
title = "Time over length"
tclab.show(tclab.Chart(title, name="times", x=lengths, series=series, caption=caption, **axes))

least, most = min(lengths), max(lengths)
made = {m: [(r[m].facts["graphs"], r[m].facts["breaks"]) for r in lengths.values()] for m in MODES}
# claim: dynamic-has-a-break
assert set(made["dynamic"]) == {(2, 1)} and set(made["default"]) == {(1, 0)}
# claim: hardly-anything-is-generated
assert {rows[mode].facts["kernels"] for rows in lengths.values() for mode in MODES} == {1}
# claim: graphs-gain-on-short-texts
assert speed(lengths[least], "reduce-overhead") > 4
# claim: nothing-is-gained-on-long-ones
assert all(abs(speed(lengths[most], mode) - 1) < 0.05 for mode in MODES)
# claim: dynamic-costs-nothing-on-long-ones
assert abs(lengths[most]["dynamic"].us / lengths[most]["default"].us - 1) < 0.05
unsteady = {m: sum(rows[m].unstable for rows in lengths.values()) for m in ("eager", *MODES)}
# claim: graphs-alone-are-steady
assert unsteady.pop("reduce-overhead") == 0 and min(unsteady.values()) >= 2
cold = {m: [rows[m].facts["first_s"] for rows in lengths.values()] for m in WAYS}
# claim: a-first-call-is-less-than-half-of-four
assert max(cold["dynamic"]) < 0.5 * sum(cold["default"])
# claim: and-no-more-than-the-longest-of-them
assert max(cold["dynamic"]) <= max(cold["default"])
