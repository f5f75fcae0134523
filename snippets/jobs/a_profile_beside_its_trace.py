"""A training run's profile, opened beside its trace: which lines each kernel of the GPU comes from.

The program trains a small network under autocast, compiled. Its trace says what was compiled, its
profile what the GPU ran in the last two steps. Each kernel that Inductor wrote is joined to its
graph and to its lines; kernels of libraries are joined to their graph alone.
"""
# tclab: needs=cuda timeout=300

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tclab
from tclab.jobs import open_job
from tclab.render.job import tables

PROGRAM = """
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(512, 2048), nn.Linear(2048, 512)
        self.norm = nn.LayerNorm(512)

    def forward(self, x):
        y = self.up(self.norm(x))
        y = nn.functional.gelu(y)
        return x + self.down(y)

torch.manual_seed(0)
net = Net().cuda()
compiled, opt = torch.compile(net), torch.optim.SGD(net.parameters(), lr=1e-3)

def step():
    x = torch.randn(64, 512, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        loss = compiled(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

for _ in range(5):
    step()
torch.cuda.synchronize()
kinds = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
with profile(activities=kinds, record_shapes=True) as seen:
    step()
    step()
    torch.cuda.synchronize()
seen.export_chrome_trace("job/profile.json")
"""

with tempfile.TemporaryDirectory() as folder:
    Path(folder, "train.py").write_text(PROGRAM)
    Path(folder, "job").mkdir()
    environment = {**os.environ, "TORCH_TRACE": "job"}
    subprocess.run([sys.executable, "train.py"], cwd=folder, env=environment, check=True)
    job = open_job([Path(folder, "job")])
    events = json.loads(Path(folder, "job", "profile.json").read_text())["traceEvents"]

on_gpu = [e["dur"] for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
(profile,) = job.profiles
# claim: the-times-add-up
assert abs(profile.seconds * 1e6 - sum(on_gpu)) < 1e-3 * sum(on_gpu)
compiled = [each for each in profile.kernels if each.origin == "compiled"]
# claim: each-generated-kernel-has-its-graph
assert len(compiled) >= 4 and all(each.compile_id and each.direction for each in compiled)
# claim: each-generated-kernel-has-its-lines
assert all(each.lines for each in compiled), [each.name for each in compiled if not each.lines]
gelu = [each for each in compiled if "gelu" in each.name and each.direction == "forward"]
# claim: gelu-comes-from-its-line
assert gelu and all("train.py:14" in map(str, each.lines) for each in gelu), gelu
# claim: each-launch-has-its-configuration
assert all("num_warps" in each.configuration for each in compiled)
libraries = [each for each in profile.kernels if each.origin == "in a compiled graph"]
# claim: a-library-call-has-its-graph-alone
assert libraries and all(each.compile_id and not each.lines for each in libraries)

tclab.show(tables.kernels(profile))
columns = ("finding", "lines", "what", "cost")
rows = tuple((f.title, ", ".join(map(str, f.places)), f.what, str(f.cost)) for f in job.findings)
tclab.show(tclab.model.Table("Findings of the job", "findings", columns, rows))
