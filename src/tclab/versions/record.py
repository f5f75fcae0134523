"""Record what the PyTorch that is here makes of the snippets and of the catalogue.

    python -m tclab.versions.record COMPILES [SNIPPET…]

COMPILES is the folder that `tclab.versions.compiles` filled under this PyTorch. It runs what is
stale of the snippets, by default of all, and writes ``records/versions/torch2.15.json``. A snippet
that this machine cannot run, or that is not named, keeps what an earlier record says of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tclab import snippets
from tclab.engine import schedule
from tclab.engine.plan import Plan
from tclab.model import Run, Snippet
from tclab.project import project_root
from tclab.store import checksums
from tclab.versions import claims, records


def file(root: Path, release: str) -> Path:
    """Where the record of a release lies."""
    return root / "records" / records.FOLDER / f"torch{release}.json"


def record(root: Path, captures: Path, names: Sequence[str]) -> Path:
    """Write the record of this PyTorch, and its digest; the file."""
    plan = Plan(root)
    path = file(root, plan.here.version.short)
    before = records.read(path) if path.exists() else records.VersionRecord(plan.here)
    chosen = [snippets.get(name, root) for name in names] or snippets.find(root)
    runs = _runs(plan, chosen)
    own = {each.name: claims.of_run(each, runs[each.name]) for each in chosen if each.name in runs}
    verdicts = dict(before.verdicts)
    for run in runs.values():
        verdicts.update(claims.verdicts(run))
    compiles = tuple(records.of_captures(captures)) or before.compiles
    said = {**before.claims, **{name: found for name, found in own.items() if found}}
    sources = {name: runs[name].source_key for name in said if name in runs}
    sources = {**before.sources, **sources}
    records.write(path, records.VersionRecord(plan.here, said, verdicts, compiles, sources))
    checksums.write(path)
    return path


def _runs(plan: Plan, chosen: Sequence[Snippet]) -> dict[str, Run]:
    """The run of each snippet under this PyTorch: one that is there, or one that is made now."""
    known = {each.name: claims.known(plan, each) for each in chosen}
    made = schedule.run((each for each in chosen if not known[each.name]), plan)
    return {name: run for name, run in {**known, **made}.items() if run}


def main(arguments: Iterable[str] | None = None) -> int:
    """Record; the status."""
    parser = argparse.ArgumentParser(prog="python -m tclab.versions.record")
    parser.add_argument("compiles", type=Path)
    parser.add_argument("snippets", nargs="*")
    options = parser.parse_args(None if arguments is None else list(arguments))
    print(record(project_root(), options.compiles, options.snippets))
    return 0


if __name__ == "__main__":
    sys.exit(main())
