"""Functions without products against a copy of the same size.

Height is the fewest bytes a function can move over the time of its fastest mode. The line is the
measured copy. A dot on it is as fast as a plain copy; below it, about that much is left.
Each leads to its kernels.
"""
# tclab: reads=records/h200-torch2.11/*.jsonl

from _recorded import MODES, by_case, recorded, where
from _roof import Roof

import tclab

book = recorded()
roof = Roof(book)
points = [(size, rate / 1e12, None, "", "") for size, rate in roof.copies.items()]
for case, rows in by_case(book, "kernel").items():
    if rows["eager"].facts.get("flops"):
        continue  # products are another ceiling
    measured = [row for row in rows.values() if row.ok and row.mode in ("eager", *MODES)]
    fastest, least = min(row.us for row in measured), rows["eager"].facts["least_bytes"]
    function, _, size = case.rpartition("/")[2].partition("@")  # kernels/softmax@4096x1024
    name, place = f"{function.replace('_', ' ')}, {size}", function.replace("_", "-")
    points.append((least, None, least / fastest / 1e6, name, f"explorer/kernels.md#{place}"))

moved, copies, rates, names, links = zip(*points, strict=True)
series = {"copy": copies, "kernel, fastest mode": rates}
axes = {"x_label": "MB that have to move", "y_label": "TB/s", "log_x": True, "caption": where(book)}
x = [size / 1e6 for size in moved]
dots = {"names": names, "links": links}
tclab.show(tclab.Chart("Kernels under a copy", name="roof", x=x, series=series, **axes, **dots))

shares = [rate / roof.copy_between(size) * 1e12 for size, _, rate, *_ in points if rate]
# claim: some-are-as-fast-as-a-copy
assert sum(share > 0.85 for share in shares) >= 8
# claim: every-dot-has-a-place
assert len(shares) == sum(map(bool, links)) == sum(map(bool, names)) >= 30
