"""The catalogue's functions, compiled for an MI300X with three versions of PyTorch, down to AMDGCN.

Counts of what compiles and of what is refused: no AMD device was compared. Made without a GPU by
`python -m benchmarks.amd` in a clone.
"""
# tclab: reads=records/amd-torch*.json

import json
from pathlib import Path

import tclab

here = Path(__file__).resolve().parent
folder = next(f for f in (here, here.parents[1] / "records") if list(f.glob("amd-torch*.json")))
runs = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("amd-torch*.json"))]


def about(row):
    """What a refusal is about: attention, a convolution; of a compile that fails, its function."""
    if row["status"] == "refused":
        return "attention" if "attention" in row["reason"].partition(":")[0] else "convolution"
    return row["name"]


def counted(run, status):
    return [row for row in run["rows"] if row["status"] == status]


tclab.show(
    tclab.Table(
        title="The catalogue's functions for an AMD Instinct MI300X; no AMD device was compared",
        name="catalogue",
        columns=("PyTorch", "Triton", "functions", "compiled", "refused: convolution",
                 "refused: attention", "failed", "kernels", "to AMDGCN"),
        rows=[
            (run["machine"]["torch"], run["machine"]["triton"],
             len(run["rows"]), len(counted(run, "compiled")),
             *(sum(about(row) == which for row in counted(run, "refused"))
               for which in ("convolution", "attention")),
             ", ".join(map(about, counted(run, "failed"))) or "0", run["kernels"], run["amdgcn"])
            for run in runs
        ],
    )
)  # fmt: skip

# claim: three-versions
assert [run["machine"]["torch"][:4] for run in runs] == ["2.11", "2.13", "2.15"]
# claim: most-compile
assert all(len(counted(run, "compiled")) > 0.8 * len(run["rows"]) > 80 for run in runs)
# claim: each-kernel-to-amdgcn
assert all(run["kernels"] == run["amdgcn"] > 200 for run in runs)
# claim: refused-are-convolutions-and-attention
assert all(
    "convolution" in row["reason"] or "attention" in row["reason"]
    for run in runs for row in counted(run, "refused")
)  # fmt: skip
