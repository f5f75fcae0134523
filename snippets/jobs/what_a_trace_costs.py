"""What TORCH_TRACE costs a job: at each compile, at a warm call, and on disk.

The same program runs with it and without it. It compiles a small network six times with Dynamo and
AOTAutograd, without Inductor; the first of them, which also imports, is left out.
"""
# tclab: timeout=300

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tclab

PROGRAM = """
import glob, json, os, statistics, time
import torch
from torch import nn

def bytes_written():
    folder = os.environ.get("TORCH_TRACE")
    return sum(os.path.getsize(file) for file in glob.glob(f"{folder}/*")) if folder else 0

net = nn.Sequential(nn.Linear(64, 64), nn.GELU()).requires_grad_(False)
compiled, x = torch.compile(net, backend="aot_eager"), torch.ones(8, 64)
seconds = []
for _ in range(6):
    torch._dynamo.reset()
    begin = time.perf_counter()
    compiled(x)
    seconds.append(time.perf_counter() - begin)
written = bytes_written()
begin = time.perf_counter()
for _ in range(300):
    compiled(x)
warm = (time.perf_counter() - begin) / 300
print(json.dumps([statistics.median(seconds[1:]), warm, written, bytes_written()]))
"""


def run(folder, traced):
    """Seconds of a compile and of a warm call; bytes after the compiles, and after the calls."""
    variables = {"TORCH_TRACE": f"{folder}/trace"} if traced else {}
    found = subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, **variables},
                           check=True, stdout=subprocess.PIPE)  # fmt: skip
    return json.loads(found.stdout.splitlines()[-1])


with tempfile.TemporaryDirectory() as folder:
    Path(folder, "trace").mkdir()
    without, traced = run(folder, traced=False), run(folder, traced=True)
rows = [
    (job, 1e3 * seconds, 1e6 * warm, at_end / 6e3)
    for job, (seconds, warm, _, at_end) in (("without", without), ("with TORCH_TRACE", traced))
]
columns = ("job", "a compile", "a warm call", "log of a compile")
units = ("", "ms", "µs", "KB")
tclab.show(tclab.Table("The same job, with a trace and without", "cost", columns, rows, units,
                       ("", ".0f", ".0f", ".0f")))  # fmt: skip

# claim: warm-calls-write-nothing
assert traced[3] == traced[2] > 0
