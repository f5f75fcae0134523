"""Memory-bound kernels against the card's own copy bandwidth.

Each function reads its inputs once and writes its output once: no version can move fewer bytes.
Those bytes over the measured time, as a share of what a plain device copy reaches on this card,
say how far a kernel is from the best there is. Tensors are several times the L2 cache.
"""
# tclab: needs=cuda alone=true timeout=180 memory=16384

import torch
import torch.nn.functional as F
from _tables import table
from _timing import copy_bandwidth, error, side_by_side

import tclab

ROWS, COLUMNS = 16384, 8192  # [rows, columns] in bfloat16


def chain(x, b):
    return F.gelu(x + b) * x


def add_layer_norm(x, y, w, b):
    return F.layer_norm(x + y, (COLUMNS,), w, b)


def softmax(x):
    return torch.softmax(x, dim=-1)


def rms_norm(x, w):
    return x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6).to(x.dtype) * w


def random(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


big, row = (ROWS, COLUMNS), (COLUMNS,)
cases = {
    "gelu(x + b) · x": (chain, [big, row]),
    "layer norm of x + y": (add_layer_norm, [big, big, row, row]),
    "softmax": (softmax, [big]),
    "RMS norm, written out": (rms_norm, [big, row]),
}
copy = copy_bandwidth()
rows, shares = [], {"eager": [], "compiled": []}
for name, (fn, shapes) in cases.items():
    compiled = torch.compile(fn, dynamic=False)
    inputs = [tuple(random(*s) for s in shapes) for _ in range(2)]
    exact = fn(*(a.double() for a in inputs[0]))
    wrong = [error(f(*inputs[0]), exact) for f in (fn, compiled)]
    assert wrong[1] < 1e-2 and wrong[1] < 1.1 * wrong[0] + 1e-4, (name, wrong)
    moved = sum(a.nbytes for a in inputs[0]) + inputs[0][0].nbytes  # each input once, one output
    times = side_by_side([fn, compiled], inputs)
    rate = [moved / t * 1e6 for t in times]
    shares["eager"].append(100 * rate[0] / copy)
    shares["compiled"].append(100 * rate[1] / copy)
    rows.append((name, *wrong, *times, times[0] / times[1], rate[1] / 1e12, 100 * rate[1] / copy))
    assert times[1] < times[0], f"{name}: compiling did not help"

columns = {"function": "", "error, eager": " .1e", "error, compiled": " .1e", "eager": "µs .0f"}
columns |= {"compiled": "µs .0f", "speed-up": "× .2f", "bytes": "TB/s .2f", "of a copy": "% .0f"}
caption = f"{ROWS} × {COLUMNS} bfloat16; copy: {copy / 1e12:.2f} TB/s read + written"
tclab.show(table("Memory-bound kernels", columns, rows, caption=caption))
bars = {"x": list(cases), "series": shares, "style": "bar"}
tclab.show(tclab.Chart("Share of the copy bandwidth", **bars, y_label="% of a device copy's rate"))
best = max(rows, key=lambda r: r[-1])
tclab.show(
    f"A plain copy moves {copy / 1e12:.2f} TB/s on this card. Closest to it: {best[0]}, "
    f"{best[-1]:.0f} % compiled.",
    name="summary",
)
