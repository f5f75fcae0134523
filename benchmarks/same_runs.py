"""Check that a run is the same on each transport: the pool twice, Dask, and a bundle.

``PYTHONPATH=src python -m benchmarks.same_runs [SNIPPET…] [--folder FOLDER]`` runs those that this
machine can run (all, without names) and compares the runs with the first of the pool's, field by
field, but for the stamp and for when and by which process a line was logged. What differs between
two runs of the pool as well holds a time, bytes in use or the like: the door has no part in it.
With a folder it goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tclab.model import Run, Snippet, encode
from tclab.site import snippets
from tclab.site.engine import schedule
from tclab.site.engine.plan import Plan
from tclab.site.remote import bundle, client
from tclab.site.store.local_runs import Store
from tclab.system.project import project_root

STAMP = {"seconds", "peak_memory", "provenance", "environment"}
#: PyTorch's ``W1125 12:33:31.304000 8925`` and the profiler's ``2026-11-25 12:51:45 14496:14496``.
_LOGGED = re.compile(r"[VDIWEC]\d{4} [\d:.]+ \d+ |\d{4}-\d\d-\d\d [\d:]+ \d+:\d+ ")
Runs = Mapping[str, Run]


def main() -> None:
    """Run on each transport; print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_runs")
    parser.add_argument("snippets", nargs="*")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tclab-doors-") as temporary:
        compare(options.folder or Path(temporary), options.snippets)


def compare(folder: Path, names: Sequence[str]) -> None:
    """Compare the runs of each transport with those of the pool."""
    root = project_root()
    plan = Plan(root, Store(folder / "pool"))
    found = [snippets.get(name, root) for name in names] or snippets.find(root)
    chosen = [snippet for snippet in found if plan.local_status(snippet).state != "lacking"]
    first = schedule.run(chosen, plan)
    again = _differ(first, schedule.run(chosen, Plan(root, Store(folder / "again"))))
    print(json.dumps({"door": "pool", "snippets": len(first), "differ": sorted(again)}), flush=True)
    dask = client.run(chosen, Plan(root, Store(folder / "dask")), client.ClusterAddress("local:4"))
    for door, runs in (("dask", dask.runs), ("bundle", _bundled(folder, plan, chosen))):
        differ = _differ(first, runs)
        row = {"door": door, "snippets": len(runs), "differ": sorted(differ)}
        print(json.dumps(row | {"by the door": sorted(differ - again)}), flush=True)


def _bundled(folder: Path, plan: Plan, chosen: list[Snippet]) -> Runs:
    jobs, runs = folder / "jobs.tar", folder / "runs.tar"
    if not jobs.exists():
        bundle.write_jobs(jobs, plan, chosen, "here")
    return bundle.run_jobs(jobs, runs).runs


def _differ(first: Runs, runs: Runs) -> set[str]:
    """Return the names of the runs that differ from the first or are missing."""
    return {name for name, run in first.items() if name not in runs or not _equal(run, runs[name])}


def _equal(one: Run, other: Run) -> bool:
    return _plain(one) == _plain(other)


def _plain(run: Run) -> str:
    names = {field.name for field in dataclasses.fields(run)} - STAMP
    data = {name: encode(getattr(run, name)) for name in sorted(names)}
    return _LOGGED.sub("", json.dumps(data, sort_keys=True))


if __name__ == "__main__":
    main()
