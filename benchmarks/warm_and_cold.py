"""Run a project's snippets in the warm process and in new Pythons, and compare the artifacts.

Artifacts that hold measured times (a unit of seconds, or a chart) cannot be equal and are
counted apart; all others must be equal in every field.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tclab.model import Artifact, Chart, Run, Table, encode
from tclab.site import snippets
from tclab.site.engine import schedule
from tclab.site.engine.plan import Plan
from tclab.site.store.local_runs import Store

TIMES = {"s", "ms", "µs", "us", "ns"}


def is_timed(artifact: Artifact) -> bool:
    """Return whether the artifact holds measured times."""
    if isinstance(artifact, Table):
        words = " ".join([*artifact.columns, artifact.title]).lower()
        return bool(TIMES & set(artifact.units)) or "seconds" in words or "time" in words
    return isinstance(artifact, Chart)


def all_runs(root: Path, *, warm: bool) -> dict[str, Run]:
    plan = Plan(root, Store(root / ("warm" if warm else "cold")))
    runs = schedule.run(snippets.find(root), plan, warm=warm, jobs=2, force=True)
    if failed := [f"{name}: {run.failure.message}" for name, run in runs.items() if run.failure]:
        raise SystemExit(f"cannot be compared, {'warm' if warm else 'cold'}: {failed}")
    return runs


def compare(warm: dict[str, Run], cold: dict[str, Run]) -> dict[str, object]:
    """Return counts, and the names of the artifacts that differ."""
    compared, timed, differing = 0, 0, []
    for name, run in warm.items():
        other = {a.name: a for a in cold[name].artifacts}
        if [a.name for a in run.artifacts] != list(other) or run.stdout != cold[name].stdout:
            differing.append(name)
        for artifact in run.artifacts:
            if is_timed(artifact):
                timed += 1
                continue
            compared += 1
            if artifact.name not in other or encode(artifact) != encode(other[artifact.name]):
                differing.append(f"{name}:{artifact.name}")
    return {"compared": compared, "timed": timed, "differing": differing}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    print(json.dumps(compare(all_runs(folder, warm=True), all_runs(folder, warm=False))))
