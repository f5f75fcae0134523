"""Measure the cost of isolation, and check that it does not change artifacts.

The cost is the mean time of a snippet in the runner, one at a time and after the warm-up,
less the mean time of the same file called in one warm process with `torch._dynamo.reset()`
in between. Both start with an empty cache.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import cold, projects
from benchmarks.measure import measure
from benchmarks.results import HERE, ROOT, WORK, Figure, Parts

COUNT = 24


def figures(parts: Parts) -> Iterable[Figure]:
    """Return the seconds of isolation for a snippet, and the number of artifacts that differ from a
    cold Python's.
    """
    isolated = parts.get("isolation/isolated", lambda: timed("isolated"))
    together = parts.get("isolation/in-one-process", lambda: timed("together"))
    yield Figure(
        name="b isolation",
        what="isolation: a snippet in its own process less in a warm one",
        value=isolated["seconds"] - together["seconds"],
        limit="<=0.3",
        unit=" s",
        note=f"{isolated['seconds']:.2f} s against {together['seconds']:.2f} s, mean of {COUNT}",
    )
    same = parts.get("isolation/same-artifacts", same_artifacts)
    differing = ", ".join(same["differing"]) or "none"
    yield Figure(
        name="b same artifacts",
        what="artifacts of the site's CPU snippets that differ from a cold `python file.py`",
        value=len(same["differing"]),
        limit="<=0",
        note=f"{same['compared']} compared, {same['timed']} tables of times left out; {differing}",
    )


def timed(how: str) -> dict[str, Any]:
    """Return the mean seconds of a snippet, run ``isolated`` or ``together``."""
    folder = projects.ours(WORK / "isolation" / how, projects.generated(COUNT))
    env = cold.cold_variables(folder)
    env["PYTHONPATH"] = f"{ROOT}:{ROOT / 'src'}"
    done = measure([sys.executable, HERE / "one_by_one.py", how, folder], cwd=folder, env=env)
    result: dict[str, Any] = json.loads(done.output.splitlines()[-1])
    return result


def same_artifacts() -> dict[str, Any]:
    """Compare every stored artifact of a warm run with the same artifact of a new Python."""
    folder = projects.ours(WORK / "isolation" / "same", projects.of_the_site())
    env = {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    command: list[str | Path] = [sys.executable, HERE / "warm_and_cold.py", folder]
    result: dict[str, Any] = json.loads(
        measure(command, cwd=folder, env=env).output.splitlines()[-1]
    )
    return result
