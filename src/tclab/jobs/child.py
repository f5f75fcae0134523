"""Prepare the process that compiles what a foreign trace has. It starts in an empty folder, since
Python could import a module from the working folder, where the files of a stranger may lie.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from tclab.errors import BadRequest
from tclab.system import inductor_cache

_SRC = Path(__file__).resolve().parents[2]


def require_compiler(place: str, option: str) -> None:
    """Raise BadRequest at `place` if PyTorch or Triton is not installed."""
    if missing := [name for name in ("torch", "triton") if find_spec(name) is None]:
        names = " and ".join(missing)
        step = f"install {names}, or leave {option} out"
        raise BadRequest(place, f"{names} are not installed", step)


def make_folders(folder: str) -> tuple[str, dict[str, str]]:
    """Make a child's working folder, temporary folder and cache without kernels below `folder`.
    Return the first one, and the environment variables that the child needs beside its own.
    """
    work, temporary = f"{folder}/work", f"{folder}/tmp"
    for each in (work, temporary):
        os.makedirs(each, exist_ok=True)
    inductor_cache.copy_cpu_trials(f"{folder}/inductor")
    # a relative part would be the working folder, or a folder in it
    parts = filter(os.path.isabs, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return work, {
        inductor_cache.VARIABLE: f"{folder}/inductor",
        "TRITON_CACHE_DIR": f"{folder}/triton",
        "TMPDIR": temporary,
        "PYTHONPATH": os.pathsep.join([str(_SRC), *parts]),
        "PYTHONSAFEPATH": "1",  # Python 3.10 ignores it, and has the empty folder first
        "PYTHONUTF8": "1",
    }
