"""The structured trace of a program, what is in it, and the report that tlparse makes of it.

TORCH_TRACE names a folder. The program compiles, breaks, and compiles for another size.
"""
# tclab: needs=cxx

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import torch
from _child import logged

import tclab


def f(x):
    y = torch.relu(x) + 1
    torch._dynamo.graph_break()
    return y @ y.T


def program():
    compiled = torch.compile(f)
    for rows in (8, 12):
        compiled(torch.randn(rows, 16))


def kind(line):
    """What a record is about: a key of its JSON that is none of those each record has."""
    data = json.loads(line[line.index("{") :])
    if "artifact" in data:
        return data["artifact"]["name"]
    names = set(data) - {"rank", "frame_id", "frame_compile_id", "attempt", "has_payload"}
    return min(names - {"stack", "compiled_autograd_id"}, default="stack")


def report_of(trace, out):
    """Paths in tlparse's report, or why there is none."""
    beside = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    if not (tool := shutil.which("tlparse", path=beside)):
        return "tlparse is not installed here: pip install tlparse"
    subprocess.run([tool, trace, "-o", out, "--no-browser"], check=True, capture_output=True)
    return sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())


with tempfile.TemporaryDirectory() as folder:
    logged("", program, TORCH_TRACE=folder)
    (trace,) = Path(folder).iterdir()
    lines = trace.read_text().split("\n")
    records = [line for line in lines if line and not line.startswith("\t")]  # tabs: what belongs
    kinds = Counter(map(kind, records))
    report = report_of(trace, Path(folder, "report"))
made = [report] if isinstance(report, str) else report
pages = [re.sub(r"_[a-z0-9]{52}|_\d+(?=\.)", "", path) for path in made]  # hashes and numbers
compiles = sorted({path.split("/")[0] for path in made if path.startswith("-_")} - {"-_-_-_-"})

tclab.show(
    tclab.Table(
        title="Records of the trace",
        name="records",
        columns=("record", "how many"),
        rows=kinds.most_common(),
    )
)
tclab.show("\n".join(pages), title="The report of tlparse", name="report")

# claim: one-file-a-process
assert trace.name.startswith("dedicated_log_torch_trace_")
# claim: graphs-and-code-are-in-it
assert kinds["dynamo_output_graph"] == kinds["inductor_output_code"] == 4
# claim: breaks-and-reasons-to-recompile-are-in-it
assert kinds["dynamo_graph_break_reason"] and kinds["recompile_reasons"]
# claim: inductors-ir-is-not-in-it
assert not any("fusion" in name or name.startswith("ir_") for name in kinds)
if not isinstance(report, str):
    # claim: a-page-to-start-from
    assert "index.html" in pages
    # claim: a-folder-for-each-attempt
    assert {"-_0_0_0", "-_0_0_1", "-_0_1_0", "-_0_1_1", "-_1_0_0", "-_1_1_0"} <= set(compiles)
