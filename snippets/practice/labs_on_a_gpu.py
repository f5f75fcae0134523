"""Labs 1 and 5, solved, on a GPU: what they print there, and every assert of theirs.

Each lab's file is run as it stands, in this process. It takes the GPU where there is one.
"""
# tclab: needs=cuda,triton reads=docs/labs/lab[15]_*.py alone=true timeout=300 memory=16384

import contextlib
import io
import time
from pathlib import Path

import torch

import tclab

LABS = Path(__file__).resolve().parents[2] / "docs" / "labs"
rows, devices, asserts = [], {}, {}
for name in ("lab1_backends", "lab5_benchmarks"):
    torch._dynamo.reset()
    path = LABS / f"{name}.py"
    source = path.read_text(encoding="utf-8")
    module, printed, begin = {"__name__": name}, io.StringIO(), time.perf_counter()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, str(path), "exec"), module)
    seconds = time.perf_counter() - begin
    devices[name] = module["device"]
    asserts[name] = sum(line.startswith("assert") for line in source.splitlines())
    rows.append((name, devices[name], asserts[name], seconds))
    tclab.show(printed.getvalue(), title=f"What {name} printed", name=name)
columns = ("lab", "device", "asserts that held", "it took")
tclab.show(tclab.Table("Labs on this machine", "labs", columns, rows,
                       units=("", "", "", "s"), formats=("", "", "d", ".0f")))  # fmt: skip

# claim: both-used-the-gpu
assert set(devices.values()) == {"cuda"}, devices
# claim: and-each-assert-held
assert all(count > 3 for count in asserts.values()), asserts
