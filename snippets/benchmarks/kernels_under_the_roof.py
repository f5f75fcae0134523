"""Every kernel against the roof: how fast it is, and how fast it could be.

The roof is the larger of two times: the fewest bytes over the rate of a copy of that size, and the
products over the rate of a large product. `of the roof` is that time over the fastest mode's.
`pace` looks at Inductor's own kernels: the bytes it counts for them over their time, against a
copy. A low pace is a slow kernel; a high pace under a low roof means that more bytes moved.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl

import itertools

from _recorded import MEAN_COLUMNS, MODES, by_case, means, recorded, speed, where
from _roof import Roof
from _tables import table

import tclab

book = recorded()
roof, cases, caption = Roof(book), by_case(book, "kernel"), where(book)
lines, dots = [], []
for name, rows in cases.items():
    eager = rows["eager"]
    measured = [row for row in rows.values() if row.ok and row.mode in ("eager", *MODES)]
    fastest = min(measured, key=lambda row: row.us)
    share = 100 * roof.share(eager, fastest)
    pace = roof.pace(rows["default"]) if "default" in rows and rows["default"].ok else None
    by_hand = 100 * roof.share(eager, rows["triton"]) if speed(rows, "triton") else None
    spread = 100 * max(row.spread for row in measured)
    gains = [speed(rows, mode) for mode in MODES]
    label = name.removeprefix("kernels/")
    lines.append(
        (
            label,
            eager.us,
            *gains,
            fastest.mode,
            share,
            100 * pace if pace else None,
            by_hand,
            spread,
        )
    )
    work = (eager.facts.get("flops") or 0) + eager.facts[
        "least_bytes"
    ] / 2  # one a number, at least
    dots.append((work / eager.facts["least_bytes"], work / fastest.us / 1e6))

columns = {"kernel": "", "eager": "µs .1f", **dict.fromkeys(MODES, "× .2f"), "fastest": ""}
columns |= {"of the roof": "% .0f", "pace": "% .0f", "Triton by hand": "% .0f", "spread": "% .1f"}
lines.sort(key=lambda line: line[6])
tclab.show(
    table(
        "Kernels, the farthest from the roof first",
        columns,
        lines,
        name="kernels",
        caption=f"{caption}; × is eager's time over the mode's",
    )
)
tclab.show(table("By mode", MEAN_COLUMNS, means(cases), name="means", caption=caption))

bandwidth, peak = max(roof.copies.values()), roof.product("bfloat16")
ends = sorted({x for x, _ in dots} | {peak / bandwidth, 0.25, 4096.0})
between = [(a * b) ** 0.5 for a, b in itertools.pairwise(ends)]  # so that no line joins two dots
xs = sorted({*ends, *between})
height = dict(dots)
series = {
    "roof": [min(x * bandwidth, peak) / 1e12 for x in xs],
    "kernel, fastest mode": [height.get(x) for x in xs],
}
axes = {"x_label": "operations a byte", "y_label": "TFLOP/s", "log_x": True, "log_y": True}
tclab.show(
    tclab.Chart("The roofline", name="roofline", x=xs, series=series, caption=caption, **axes)
)

near = [line for line in lines if line[6] >= 85]
summary = [
    ("kernels and sizes", len(lines)),
    ("at 85 % of the roof or more", len(near)),
    ("whose times spread over 3 %", sum(line[-1] > 3 for line in lines)),
]
tclab.show(table("In short", {"": "", "number": ""}, summary, name="short", caption=caption))

# claim: nothing-is-above-the-roof
assert max(line[6] for line in lines) < 115, lines[-1]
# claim: kernels-gain-on-average
assert means(cases)[0][2] > 1
