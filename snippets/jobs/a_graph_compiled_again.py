"""The graphs of a training step, compiled again from its trace for a GPU that is not there.

The trace is opened as it is, then with one operator changed in its text, then with a line that is
no part of a graph. The program that wrote it is not asked again.
"""
# tclab: needs=triton timeout=120

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tclab
from tclab.jobs import open_job
from tclab.render.job import replays

PROGRAM = """
import torch
import tclab

def loss(x, w):
    return torch.softmax(x @ w, -1).square().mean()

x, w = torch.ones(64, 32), torch.ones(32, 48, requires_grad=True)
tclab.capture(loss, target="h200", backward=True)(x, w)
"""
FIRST_LINE = "import torch._inductor.inductor_prims"

with tempfile.TemporaryDirectory() as folder:
    environment = {**os.environ, "TORCH_TRACE": f"{folder}/trace"}
    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True)
    (log,) = Path(folder, "trace").iterdir()
    text, mark = log.read_text(), Path(folder, "mark")
    hostile_line = f"{FIRST_LINE}\n\topen('{mark}', 'w')"
    assert "aten.amax.default" in text and FIRST_LINE in text
    changed_text = text.replace("aten.amax.default", "aten.amin.default")
    logs = {"as it is": text, "changed": changed_text,
            "hostile": text.replace(FIRST_LINE, hostile_line)}  # fmt: skip
    for name, content in logs.items():
        Path(folder, f"{name}.log").write_text(content)
    job = open_job([Path(folder, f"{name}.log") for name in logs], replay=())
    marked = mark.exists()

forward, backward, changed, unchanged, *hostile = job.replays
(differs,) = [each for each in changed.kernels if each.name and not each.is_same]
tclab.show(replays.table(job.replays[:4]))
print(differs.difference, f"\nhostile.log: {hostile[0].cause.replace(folder, 'FOLDER')}", sep="\n")

# claim: the-gpu-is-the-traces
assert forward.target == backward.target == "h200"
# claim: each-kernel-is-the-same
assert len(forward.kernels) >= 2 and len(backward.kernels) >= 2
assert all(each.is_same for each in forward.kernels + backward.kernels)
# claim: one-changed-operator-differs
assert "max2(" in differs.difference and "triton_helpers.min2(" in differs.difference
# claim: other-graphs-stay-the-same
assert {each.is_same for each in unchanged.kernels} == {True}
# claim: another-line-is-refused-by-name
assert [("open(" in each.cause, each.kernels) for each in hostile] == [(True, ())] * 2
# claim: and-not-executed
assert not marked
