"""The report of a model of equal layers, as their number grows.

Each layer is linear, GELU, linear and layer norm, in inference. The model was compiled by plain
`torch.compile` for the CPU, and explained for an H200 that is not there, each in a process of its
own with empty caches. Seconds are the processor's, not the clock's.
"""
# tclab: reads=records/equal_layers.json

import json
from pathlib import Path

import tclab

here = Path(__file__).resolve().parent
places = (here, here.parents[1] / "records")
path = next(p / "equal_layers.json" for p in places if (p / "equal_layers.json").exists())
record = json.loads(path.read_text(encoding="utf-8"))
rows = sorted(record["rows"], key=lambda row: row["layers"])
reports = [row for row in rows if row["side"] == "report"]
plain = {row["layers"]: row["seconds"] for row in rows if row["side"] == "compile"}
few, many = reports[0], reports[-1]

# claim: from-12-to-300
assert (few["layers"], many["layers"]) == (12, 300)
# claim: as-many-kernels-are-assembled
assert len({(row["kernels"], row["assembled"]) for row in reports}) == 1
# claim: less-than-four-times-the-bytes
assert many["bytes"] < 4 * min(row["bytes"] for row in reports)
# claim: less-than-the-compile-for-the-cpu
assert all(row["seconds"] < plain[row["layers"]] for row in reports)

machine = record["machine"]
tclab.show(tclab.Table(
    title="A model of equal layers", name="reports",
    columns=("layers", "torch.compile", "report", "size", "kernels", "library calls"),
    rows=[(row["layers"], plain.get(row["layers"]), row["seconds"], row["bytes"] / 1e6,
           row["kernels"], row["library_calls"]) for row in reports],
    units=("", "s", "s", "MB", "", ""), formats=("d", ".1f", ".1f", ".2f", "d", "d"),
    caption=f"PyTorch {machine['torch']}, Triton {machine['triton']}, {machine['cpu']}, "
            f"{machine['date']}",
))  # fmt: skip
