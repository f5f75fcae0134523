"""A program that runs with TORCH_TRACE set, and what it left behind, opened.

The program scores batches. It asks a tensor for a number, its last batch is smaller, and it runs
twice: the second time one of Inductor's settings is another. Nothing of it is imported here; all
that is shown was read from its traces.
"""
# tclab: timeout=300

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import tclab
from tclab.jobs import open_job
from tclab.render.job import tables
from tclab.system.inductor_cache import copy_cpu_trials

PROGRAM = """
import sys
import torch
import torch._inductor.config as config

config.epilogue_fusion = sys.argv[1] == "fused"

def score(x):
    y = torch.relu(x) * 2
    if y.sum().item() > 1e6:
        print("large")
    return y.sin().mean(-1)

compiled = torch.compile(score)
for rows in (8, 8, 5):
    compiled(torch.ones(rows, 16))
"""

CACHES = ("TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE")
with tempfile.TemporaryDirectory() as folder:
    program = Path(folder, "score.py")
    program.write_text(PROGRAM)
    copy_cpu_trials(f"{folder}/cache")
    for run in ("fused", "apart"):
        variables = {"TORCH_TRACE": f"{folder}/{run}", "TORCHINDUCTOR_CACHE_DIR": f"{folder}/cache"}
        variables |= dict.fromkeys(CACHES, "1")
        subprocess.run([sys.executable, program, run], env={**os.environ, **variables}, check=True)
    job = open_job([Path(folder, "fused"), Path(folder, "apart")])

first, second = job.processes
kinds = {each.name: each for each in job.findings}
# claim: the-break-is-at-its-line
assert [str(place) for place in kinds["graph-break"].places] == ["score.py:10"]
assert kinds["graph-break"].cost.unit == "number read a call"
again = [each for each in job.findings if each.name == "recompile"]
# claim: the-recompile-names-both-sizes
assert any("expected 8, actual 5" in each.what for each in again), [e.what for e in again]
# claim: a-recompile-has-its-own-seconds
assert all(each.cost.known == "measured" and each.cost.seconds > 0 for each in again)
missed = {str(part) for each in second.lookups for part in each.changed}
# claim: the-miss-names-the-setting
assert missed == {"inductor_config[epilogue_fusion]: True → False"}, missed
assert kinds["cache-miss"].what.startswith(f"{second.name} missed what {first.name} has")
# claim: every-record-was-read
assert all(each.records > 100 and not each.unread for each in job.processes)

columns = ("finding", "lines", "what", "cost")
rows = tuple((f.title, ", ".join(map(str, f.places)), f.what, str(f.cost)) for f in job.findings)
tclab.show(tclab.model.Table("Findings of the job", "findings", columns, rows))
tclab.show(tables.compiles(job.processes, own=True))
tclab.show(tables.caches(job.processes))
