"""Functions against the roof: how fast they are, and about how fast they could be.

The roof is the larger of two times: the fewest bytes over the rate of a copy of about that size,
and the products over the rate of a large product. `of the roof` is that time over the fastest
mode's. Most times of max-autotune, and those of coordinate descent, are of a second machine of the
same kind, each beside eager there.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl,records/h200-torch2.11/autotuned/*.jsonl

from _recorded import DESCENT, MEAN_COLUMNS, MODES, by_case, means, modes_of, recorded, speed, where
from _roof import Roof
from _tables import table

import tclab

book, tuned = recorded(), recorded("autotuned")
roof, cases, caption = Roof(book), by_case(book, "kernel"), where(book)
for row in tuned:
    if row.case in cases and row.mode in (*MODES, DESCENT):
        cases[row.case].setdefault(row.mode, row)
modes = (*modes_of(cases), DESCENT)
lines, large = [], {}
for name, rows in cases.items():
    eager = rows["eager"]
    measured = [row for row in rows.values() if row.ok and row.mode in ("eager", *modes)]
    fastest = min(measured, key=lambda row: row.us)
    share = 100 * roof.share(eager, fastest)
    by_hand = 100 * roof.share(eager, rows["triton"]) if speed(rows, "triton") else None
    spread = 100 * max(row.spread for row in measured)
    gains = [speed(rows, mode) for mode in modes]
    label = name.removeprefix("kernels/")
    lines.append((label, eager.us, *gains, fastest.mode, share, by_hand, spread))
    if roof.least_us(eager) > 20:  # launching is not what it waits for
        large[label] = lines[-1]

columns = {"kernel": "", "eager": "µs .1f", **dict.fromkeys(modes, "× .2f"), "fastest": ""}
columns |= {"of the roof": "% .0f", "by hand in Triton": "% .0f", "spread": "% .1f"}
lines.sort(key=lambda line: line[-3])
head = {"name": "kernels", "caption": f"{caption}; × is eager's time over the mode's"}
tclab.show(table("Kernels, the farthest from the roof first", columns, lines, **head))
tclab.show(table("By mode", MEAN_COLUMNS, means(cases), name="means", caption=caption))

near = [line for line in large.values() if line[-3] >= 85]
short = [("kernels and sizes", len(lines)), ("large", len(large)), ("near", len(near))]
title = "In short: near are large ones that reach 85 % of the roof"
tclab.show(table(title, {"": "", "number": ""}, short, name="short", caption=caption))
by_label = {line[0]: line for line in lines}
row_softmax = by_label["softmax@16384x8192"]
# claim: nothing-is-far-above-the-roof
assert max(line[-3] for line in lines) < 110, lines[-1]
# claim: the-highest-is-a-sum
assert lines[-1][0] == "row_sum@16384x8192"
# claim: kernels-gain-on-average
assert means({f"kernels/{label}": cases[f"kernels/{label}"] for label in large})[0][2] > 1.5
# claim: softmax-by-hand-is-at-the-roof
assert row_softmax[-2] > 95 > 1.6 * row_softmax[-3]
# claim: eager-is-fastest-where-launching-is-all
assert by_label["softmax@4096x1024"][-4] == by_label["layer_norm@4096x1024"][-4] == "eager"
# claim: graphs-copy-inputs
assert all(line[3] < line[2] for line in large.values())
head = {"": "", "compiled": "% .0f", "hand": "% .0f"}
figures = [("share", row_softmax[-3], row_softmax[-2])]
tclab.show(table("Softmax of rows of 8192", head, figures, name="softmax", caption=caption))
wide = cases["kernels/softmax@16384x8192"]
# claim: autotuning-does-not-close-it
assert wide["max-autotune"].us > 3 * wide["triton"].us
# claim: nor-does-coordinate-descent
assert 1.5 * wide["triton"].us < wide[DESCENT].us < wide["default"].us
