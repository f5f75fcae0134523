"""Thirteen models, compiled for an MI300X with two versions of PyTorch, down to AMDGCN.

As they are written, and with attention in PyTorch's own operators, as within
`torch.nn.attention.sdpa_kernel(SDPBackend.MATH)`. Counts of what compiles and of what is refused:
no AMD device was compared. Made without a GPU by `python -m benchmarks.amd --corpus models`, with
and without `--math`, in a clone.
"""
# tclab: reads=records/amd-m*.json

import json
from pathlib import Path

import tclab

here = Path(__file__).resolve().parent
folder = next(f for f in (here, here.parents[1] / "records") if list(f.glob("amd-math-*.json")))


def read(way):
    paths = sorted(folder.glob(f"amd-{way}-torch*.json"))
    return {run["machine"]["torch"][:4]: run for run in map(json.loads, map(Path.read_text, paths))}


def rows(run):
    return {row["name"]: row for row in run["rows"]}


def said(row):
    """What came of a model: AMDGCN of how many kernels, or what it is refused for."""
    if row["status"] == "refused":
        return "refused: " + row["reason"].partition(",")[0]
    return f"{row['amdgcn']} of {row['kernels']} kernels"


written, math = read("models"), read("math")
names = list(rows(math["2.13"]))
tclab.show(
    tclab.Table(
        title="Models for an AMD Instinct MI300X, down to AMDGCN; no AMD device was compared",
        name="models",
        columns=("model", "as written", *(f"attention MATH, PyTorch {torch}" for torch in math)),
        rows=[
            (name, said(rows(written["2.13"])[name]),
             *(said(rows(run)[name]) if name in rows(run) else "not run" for run in math.values()))
            for name in names
        ],
    )
)  # fmt: skip

# claim: thirteen-with-two-versions
assert list(written) == ["2.13", "2.15"]
assert len(names) == 13 and all(rows(run).keys() == set(names) for run in written.values())
# claim: refused-as-they-are-written
assert all(
    row["status"] == "refused" and ("attention" in said(row) or "convolution" in said(row))
    for run in written.values() for row in run["rows"]
)  # fmt: skip
refused = {row["name"] for row in math["2.13"]["rows"] if row["status"] == "refused"}
# claim: the-others-have-a-convolution
assert refused == {"text/clip", "text/whisper"}
assert all("convolution" in said(rows(math["2.13"])[name]) for name in refused)
compiled = [row for row in math["2.13"]["rows"] if row["status"] == "compiled"]
# claim: eleven-go-down-to-amdgcn
assert len(compiled) == 11 and all(row["amdgcn"] == row["kernels"] > 0 for row in compiled)
# claim: the-same-with-the-later-version
assert rows(math["2.15"]).keys() == set(names)
for row in math["2.15"]["rows"]:
    assert row["status"] == rows(math["2.13"])[row["name"]]["status"]
    assert row.get("amdgcn") == row.get("kernels")
