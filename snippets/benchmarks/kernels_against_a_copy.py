"""Kernels bound by memory against a copy of the same size.

Height is the fewest bytes a function can move over the time of its fastest mode. The line is the
measured copy. A dot on it is as fast as a plain copy; below it, that much is left to gain.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl

from _recorded import MODES, by_case, recorded, where
from _roof import Roof

import tclab

book = recorded()
roof, points = Roof(book), [(size, None) for size in Roof(book).copies]
for rows in by_case(book, "kernel").values():
    if rows["eager"].facts.get("flops"):
        continue  # products are another ceiling
    measured = [row for row in rows.values() if row.ok and row.mode in ("eager", *MODES)]
    fastest, size = min(row.us for row in measured), rows["eager"].facts["least_bytes"]
    points += [(size, size / fastest / 1e6), (size, None)]  # a gap: no line joins two dots

points.sort(key=lambda point: point[0])
series = {
    "copy": [roof.copy_between(size) / 1e12 for size, _ in points],
    "kernel, fastest mode": [rate for _, rate in points],
}
axes = {"x_label": "MB that have to move", "y_label": "TB/s", "log_x": True, "caption": where(book)}
x = [size / 1e6 for size, _ in points]
tclab.show(tclab.Chart("Kernels under a copy", name="roof", x=x, series=series, **axes))

dots = [rate / roof.copy_between(size) * 1e12 for size, rate in points if rate]
# claim: some-are-as-fast-as-a-copy
assert sum(share > 0.85 for share in dots) >= 8
