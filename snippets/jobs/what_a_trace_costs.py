"""What TORCH_TRACE costs a job: at its first call, at a warm one, and on disk.

Each job runs with it and without it, in turns, each with a cache of its own.
"""
# tclab: timeout=600

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tclab

PROGRAM = """
import glob, json, os, sys, time
import torch
from torch import nn

def bytes_written():
    folder = os.environ.get("TORCH_TRACE")
    return sum(os.path.getsize(file) for file in glob.glob(f"{folder}/*")) if folder else 0

net = nn.Sequential(nn.Linear(64, 64), nn.GELU()).requires_grad_(False)
compiled, x = torch.compile(net), torch.ones(8, 64)
begin = time.perf_counter()
compiled(x)
first = time.perf_counter() - begin
after_first = bytes_written()
begin = time.perf_counter()
for _ in range(300):
    compiled(x)
warm = (time.perf_counter() - begin) / 300
print(json.dumps([first, warm, after_first, bytes_written()]))
"""
ROUNDS = 2


def run(folder, traced):
    """Seconds of the first and of a warm call, and bytes after the first call and at the end."""
    variables = {"TORCHINDUCTOR_CACHE_DIR": f"{folder}/cache", "OMP_NUM_THREADS": "1"}
    variables |= {"TORCH_TRACE": f"{folder}/trace"} if traced else {}
    program = [sys.executable, "-c", PROGRAM]
    found = subprocess.run(program, env={**os.environ, **variables}, check=True,
                           stdout=subprocess.PIPE)  # fmt: skip
    return json.loads(found.stdout.splitlines()[-1])


runs = {False: [], True: []}
for _ in range(ROUNDS):
    for traced, seen in runs.items():
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "trace").mkdir()
            seen.append(run(folder, traced))

rows = []
for traced, seen in runs.items():
    first, warm, _, written = map(min, zip(*seen))
    rows.append(("with TORCH_TRACE" if traced else "without", first, warm * 1e6, written / 1e6))
tclab.show(
    tclab.Table(
        "A small network, compiled: the least of two runs",
        "cost",
        ("job", "first call", "warm call", "log"),
        rows,
        ("", "s", "µs", "MB"),
        ("", ".1f", ".0f", ".2f"),
    )
)

# claim: warm-calls-write-nothing
assert all(at_end == after_first > 0 for _, _, after_first, at_end in runs[True])
# claim: a-small-job-writes-a-megabyte-or-so
assert 0.05 < rows[1][3] < 3
