"""The least cost of a call, computed from shapes, beside what an H100 took.

Functions and whole models, forward and training. *At least* is what a report says of a call: the
launches on the host, the bytes at the memory's bandwidth, the products at the GPU's rate. The bound
was measured apart: launches where the GPU is busy for less than 60 % of a call or where CUDA graphs
gain a quarter, else what the kernels that take most of the GPU's time do.
"""
# tclab: reads=records/h100-torch2.11/floors.json,records/h100-torch2.11/floors_held_out.json

import json
from pathlib import Path

import tclab

here = Path(__file__).resolve().parent
places = (here, here.parents[1] / "records" / "h100-torch2.11")


def read(name):
    path = next(place / name for place in places if (place / name).exists())
    return json.loads(path.read_text(encoding="utf-8"))


record, others = read("floors.json"), read("floors_held_out.json")["rows"]
rows, made = record["rows"], record["environment"]

# claim: twenty-functions-and-six-models
assert len(rows) >= 26
# claim: no-call-took-less
assert all(row["computed"]["seconds"] <= row["seconds"] for row in rows)
right = [row for row in rows if row["computed"]["bound"] == row["measured_bound"]]
still = [row for row in others if row["computed"]["bound"] == row["measured_bound"]]
# claim: twenty-others-were-not-read
assert len(others) == 20 and not {row["name"] for row in others} & {row["name"] for row in rows}
# claim: none-of-these-took-less
assert all(row["computed"]["seconds"] <= row["seconds"] for row in others)
# claim: the-bound-of-these-was-right-in-sixteen
assert len(still) == 16
wrong = {row["name"] for row in others if row not in still}
# claim: library-kernels-take-longer-than-their-bytes
assert {"top 8 of rows", "depthwise convolution", "1-d convolution, float32"} <= wrong
# claim: the-bound-was-right-in-nine-of-ten
assert len(right) >= 0.9 * len(rows)
# claim: not-in-all
assert len(right) < len(rows)
# claim: a-call-can-take-much-longer
assert max(row["seconds"] / row["computed"]["seconds"] for row in rows) > 10

caption = f"{made['gpu']}, {made['cpu']}, PyTorch {made['torch']}, {record['recorded']}"
COLUMNS = ("call", "at least", "launches", "bytes", "products", "took", "GPU busy", "bound",
           "measured bound")  # fmt: skip
tclab.show(tclab.Table(
    title="The least cost of a call, and what it took", name="calls", columns=COLUMNS,
    units=("", *["µs"] * 6, "", ""), formats=("", *[",.0f"] * 6, "", ""), caption=caption,
    rows=[(row["name"],
           *(1e6 * row["computed"][each] for each in ("seconds", "launches", "memory", "products")),
           1e6 * row["seconds"], 1e6 * row["busy"], row["computed"]["bound"],
           row["measured_bound"]) for row in rows],
))  # fmt: skip
