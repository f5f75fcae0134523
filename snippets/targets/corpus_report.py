"""Every function of the corpus, for the H200 and on one.

Each is compiled twice by the same PyTorch: on the GPU by plain `torch.compile`, and for the
target `h200` in a process that sees no GPU. Kernels are compared as text, with nothing taken out.
"""
# tclab: needs=cuda,triton alone=true timeout=400 memory=110000

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import torch

import tclab

WORSE = {"identical": 0, "no kernels": 1, "same kernels": 1, "open": 1, "refused": 2,
         "gpu failed": 3}  # fmt: skip


def reason(row):
    """Why a function is not simply identical: the cause, or the first line that differs."""
    lines = [line.strip() for line in (row.get("reason") or "").splitlines()]
    words = [line for line in lines if line and not line.startswith(("---", "+++", "@@"))]
    if not words or row["verdict"] == "identical":
        return ""
    errors = [line for line in words if re.match(r"[\w.]+(Error|Exception|Failed)\b", line)]
    return errors[-1] if errors else words[0]


assert torch.cuda.get_device_name() == "NVIDIA H200"
source = str(Path(tclab.__file__).resolve().parents[1])
path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
with tempfile.TemporaryDirectory() as out:
    command = [sys.executable, "-m", "tclab.workshop.verify.compare", "--out", out,
               "--target", "h200", "--jobs", str(min(16, os.cpu_count() or 1))]  # fmt: skip
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path},
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode in (0, 1), done.stderr[-3000:]
    report = json.loads((Path(out) / "report.json").read_text())

functions, kernels = report["functions"], report["kernels"]
COUNTS = {"identical": "identical", "open": "either",
          "different": "different", "refused": "refused"}  # fmt: skip
total = {verdict: report[count] for verdict, count in COUNTS.items()}
tclab.show(tclab.Table(
    title="Kernels", name="totals", columns=("", "kernels", "share"), units=("", "", "%"),
    formats=("", "d", ".1f"),
    rows=[(v, n, 100 * n / kernels) for v, n in total.items()] + [("all", kernels, 100)],
))  # fmt: skip
families = {row["name"].split("/")[0]: Counter() for row in functions}
for row in functions:
    own = {verdict: row[count] for verdict, count in COUNTS.items()}
    families[row["name"].split("/")[0]].update({"functions": 1, **own})
tclab.show(tclab.Table(
    title="Family by family", name="families", columns=("family", "functions", *total),
    rows=[(name, n["functions"], *(n[v] for v in total)) for name, n in families.items()],
))  # fmt: skip
order = sorted(functions, key=lambda row: -WORSE.get(row["verdict"], 4))
tclab.show(tclab.Table(
    title="Function by function", name="functions",
    columns=("function", "verdict", "kernels", *total, "why"),
    rows=[(row["name"], row["verdict"], row["kernels"], *(row[c] for c in COUNTS.values()),
           reason(row))
          for row in order],
))  # fmt: skip

assert report["different"] == 0, [row["name"] for row in functions if row["different"]]
# PyTorch 2.11 itself cannot compile this one: its own pattern matcher raises, on the GPU too.
own = [row["name"] for row in functions if row["verdict"] not in WORSE]
assert own in ([], ["indexing/random_permutation"]), own
assert kernels >= 200
assert report["identical"] >= 0.95 * kernels
