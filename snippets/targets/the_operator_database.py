"""PyTorch's own operator database, compiled for an H100 without it, and on one.

PyTorch ships a list of its operators with sample arguments, with which it tests itself. Each sample
in up to five data types, forward and backward where there is one, was compiled for the target by a
process that sees no GPU, and by plain `torch.compile` on the GPU; then the kernels were compared.
"""
# tclab: reads=records/h100-torch2.11/operator_database.json

import json
from collections import Counter
from pathlib import Path

import tclab

NAME = "operator_database.json"
here = Path(__file__).resolve().parent
places = (here, here.parents[1] / "records" / "h100-torch2.11")
path = next(place / NAME for place in places if (place / NAME).exists())
record = json.loads(path.read_text(encoding="utf-8"))
operators, made = record["operators"], record["environment"]
KERNELS = ("identical", "open", "different", "refused")

samples = sum((Counter(row["verdicts"]) for row in operators), Counter())
kernels = {each: sum(row[each] for row in operators) for each in ("kernels", *KERNELS)}

# claim: seven-thousand-samples
assert sum(samples.values()) == sum(row["samples"] for row in operators) > 7000
# claim: none-is-different
assert kernels["different"] == 0 and "different" not in samples
# claim: ninety-eight-in-a-hundred-are-identical
assert kernels["identical"] > 0.98 * kernels["kernels"]
# claim: at-most-three-in-two-hundred-are-open
assert 0 < kernels["open"] <= 0.015 * kernels["kernels"]
# claim: the-rest-is-refused
assert kernels["identical"] + kernels["open"] + kernels["refused"] == kernels["kernels"]
assert kernels["refused"] < 0.002 * kernels["kernels"]
left = [row for row in operators if {"open", "refused"} & set(row["verdicts"])]
# claim: what-is-open-or-refused-has-its-reason
assert left and all(row["why"] for row in left)

caption = f"{made['gpu']}, PyTorch {made['torch']}, Triton {made['triton']}, {record['recorded']}"
tclab.show(tclab.Table(
    title="Samples and kernels of the operator database", name="totals",
    columns=("verdict", "samples", "kernels"), caption=caption,
    rows=[*((each, samples.pop(each, 0), kernels[each]) for each in KERNELS),
          *((each, count, None) for each, count in samples.most_common()),
          ("all", sum(row["samples"] for row in operators), kernels["kernels"])],
))  # fmt: skip
tclab.show(tclab.Table(
    title="Operators with open or refused kernels", name="operators",
    columns=("operator", "samples", "kernels", *KERNELS, "why"), caption=caption,
    rows=[(row["operator"], row["samples"], row["kernels"], *(row[each] for each in KERNELS),
           row["why"]) for row in left],
))  # fmt: skip
