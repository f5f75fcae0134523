"""Whether somebody else uses the machine: said before anything is measured."""

from __future__ import annotations

import os
import shutil
import subprocess

#: A load above this share of the cores, or a GPU above this use in percent, is said.
_LOAD, _USE = 0.3, 5.0


def busy(device: str) -> str:
    """Who else is at work, in words; '' where nobody is, or nothing can be asked."""
    return _gpu() if device == "cuda" else _cpu()


def _cpu() -> str:
    if not hasattr(os, "getloadavg"):
        return ""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load <= _LOAD * cores:
        return ""
    return f"the load is {load:.1f} on {cores} cores: other programs share them"


def _gpu() -> str:
    tool = shutil.which("nvidia-smi")
    if not tool:
        return ""
    fields = "--query-gpu=utilization.gpu,memory.used"
    command = [tool, fields, "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return _gpu_in_words((done.stdout.splitlines() or [""])[0])


def _gpu_in_words(line: str) -> str:
    """What a line such as ``97, 10240`` says: use in percent, MiB that are taken."""
    use, _, taken = line.partition(",")
    try:
        busy_percent, mib = float(use), float(taken)
    except ValueError:
        return ""
    if busy_percent <= _USE and mib < 2048:
        return ""
    return f"the GPU is {busy_percent:.0f} % busy and holds {mib:.0f} MiB of somebody else's"
