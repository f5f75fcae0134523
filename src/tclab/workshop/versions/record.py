"""Record the results of the snippets and the catalogue's compiles under this PyTorch.

    python -m tclab.workshop.versions.record COMPILES [SNIPPET…]

COMPILES is the folder that `tclab.workshop.versions.compiles` filled under this PyTorch. The
command runs the stale snippets among the named ones (by default among all), and writes
``records/versions/torch2.15.json``. A snippet that this machine cannot run, or that is not named,
keeps its entry from an earlier record.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tclab.model import Run, Snippet
from tclab.site import snippets
from tclab.site.engine import schedule
from tclab.site.engine.plan import Plan
from tclab.site.store import checksums
from tclab.site.versions import claims, records
from tclab.system.project import project_root


def record_path(root: Path, release: str) -> Path:
    """Return the path of a release's record."""
    return root / "records" / records.FOLDER / f"torch{release}.json"


def record(root: Path, captures: Path, names: Sequence[str]) -> Path:
    """Write the record of this PyTorch, and its digest; return its path."""
    plan = Plan(root)
    path = record_path(root, plan.here.version.short)
    earlier = records.read(path) if path.exists() else records.VersionRecord(plan.here)
    chosen = [snippets.get(name, root) for name in names] or snippets.find(root)
    runs = _collect_runs(plan, chosen)
    own = {
        each.name: claims.claim_outcomes(each, runs[each.name])
        for each in chosen
        if each.name in runs
    }
    verdicts = dict(earlier.verdicts)
    for run in runs.values():
        verdicts.update(claims.belief_verdicts(run))
    compiles = tuple(records.read_compiles(captures)) or earlier.compiles
    all_claims = {**earlier.claims, **{name: found for name, found in own.items() if found}}
    sources = {name: runs[name].source_key for name in all_claims if name in runs}
    sources = {**earlier.sources, **sources}
    records.write(path, records.VersionRecord(plan.here, all_claims, verdicts, compiles, sources))
    checksums.write(path)
    return path


def _collect_runs(plan: Plan, chosen: Sequence[Snippet]) -> dict[str, Run]:
    """Return each snippet's run under this PyTorch; run the snippets that have no such run."""
    known = {each.name: claims.find_run(plan, each) for each in chosen}
    made = schedule.run((each for each in chosen if not known[each.name]), plan)
    return {name: run for name, run in {**known, **made}.items() if run}


def main(arguments: Iterable[str] | None = None) -> int:
    """Write the record, print its path, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tclab.workshop.versions.record")
    parser.add_argument("compiles", type=Path)
    parser.add_argument("snippets", nargs="*")
    options = parser.parse_args(None if arguments is None else list(arguments))
    print(record(project_root(), options.compiles, options.snippets))
    return 0


if __name__ == "__main__":
    sys.exit(main())
