"""Functions compared each in a forked process: `benchmarks.forked`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import json, os
import torch
from benchmarks import forked

def compare(name):
    if name == "crash":
        os.abort()
    if name == "missing":
        return None
    compiled = torch.compile(lambda x: x.cos() * 3)(torch.ones(4))
    return {"name": name, "verdict": str(round(compiled[0].item(), 3))}

names = ["compile", "crash", "missing"]
for row in forked.rows(names, compare, 1, 60, float("inf")):
    print(json.dumps(row))
"""


def test_forked_processes_compile_without_the_workers_that_do_not_survive_a_fork(
    tmp_path: Path,
) -> None:
    """Each compile waited for ever where there are many cores: the pool of threads that the first
    compile starts is not in the forked processes. It starts none where it finds a kernel kept."""
    environment = os.environ | {
        "TORCHINDUCTOR_COMPILE_THREADS": "4",
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path),
    }
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    assert ran.stdout.splitlines() == [
        '{"name": "compile", "verdict": "1.621"}',
        '{"name": "crash", "verdict": "ended", "words": "its process ended with SIGABRT"}',
    ]
