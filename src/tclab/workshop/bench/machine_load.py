"""Describe how much of the machine other programs use, before anything is measured."""

from __future__ import annotations

import os
import shutil
import subprocess

#: Limits above which use is reported: the load as a share of the cores, and the GPU's use in
#: percent.
_LOAD, _USE = 0.3, 5.0


def describe_load(device: str) -> str:
    """Describe how much of the device other programs use; '' if they use little, or if it is
    unknown.
    """
    return _describe_gpu() if device == "cuda" else _describe_cpu()


def _describe_cpu() -> str:
    if not hasattr(os, "getloadavg"):
        return ""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load <= _LOAD * cores:
        return ""
    return f"the load is {load:.1f} on {cores} cores: other programs share them"


def _describe_gpu() -> str:
    tool = shutil.which("nvidia-smi")
    if not tool:
        return ""
    fields = "--query-gpu=utilization.gpu,memory.used"
    command = [tool, fields, "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return _describe_gpu_use((done.stdout.splitlines() or [""])[0])


def _describe_gpu_use(line: str) -> str:
    """Describe a line such as ``97, 10240``: the GPU's use in percent, and its used MiB."""
    use, _, used = line.partition(",")
    try:
        percent, mib = float(use), float(used)
    except ValueError:
        return ""
    if percent <= _USE and mib < 2048:
        return ""
    return f"the GPU is {percent:.0f} % busy and holds {mib:.0f} MiB of somebody else's"
