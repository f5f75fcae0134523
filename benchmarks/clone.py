"""Time `make site` and `make test` in a fresh clone on two cores, without venv, store and pip
cache.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.measure import measure
from benchmarks.results import ROOT, Figure, Parts

LIMITS = {"site": 8, "test": 15}  # minutes


def figures(parts: Parts) -> Iterable[Figure]:
    """Return the minutes of both commands, installations included."""
    minutes = parts.get("clone/minutes", fresh_clone)
    for target, limit in LIMITS.items():
        yield Figure(
            name=f"e make {target}",
            what=f"`make {target}` in a fresh clone, installations included",
            value=minutes[target],
            limit=f"<={limit}",
            unit=" min",
            note=f"at commit {minutes['commit']}",
        )


def fresh_clone() -> dict[str, Any]:
    """Clone the committed state, and time each command in a clone of its own."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    minutes: dict[str, Any] = {"commit": commit.stdout.strip()}
    for target in LIMITS:
        minutes[target] = round(one(target) / 60, 2)
    return minutes


def one(target: str) -> float:
    """Return the seconds of ``make TARGET`` in a new clone."""
    folder = Path(tempfile.mkdtemp(prefix="tclab-clone-"))
    try:
        subprocess.run(["git", "clone", "--quiet", ROOT, folder / "tclab"], check=True)
        empty = {
            "PIP_NO_CACHE_DIR": "1",
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
            "TRITON_CACHE_DIR": str(folder / "triton"),
            "VIRTUAL_ENV": "", "MAKEFLAGS": "", "MAKELEVEL": "", "PYTHONPATH": "",
            "TCLAB_STORE": "", "TCLAB_ROOT": "",
        }  # fmt: skip
        done = measure(["make", target], cwd=folder / "tclab", env=empty)
        print("\n".join(done.output.splitlines()[-4:]), flush=True)
        return done.seconds
    finally:
        shutil.rmtree(folder, ignore_errors=True)
