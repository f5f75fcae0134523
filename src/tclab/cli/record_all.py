"""``tclab record --all``: every environment of a site, through whichever doors are open."""

from __future__ import annotations

from dataclasses import replace

from tclab import terminal
from tclab.cli.doors import tell_refused
from tclab.cli.project import Project, printing_results
from tclab.engine.doors import environments, far, taking
from tclab.engine.doors.environments import Stand
from tclab.engine.record import record


def record_all(lab: Project, door: far.Door | None, *, force: bool) -> int:
    """Record what is stale, and say what stays so, and why; the status."""
    plan = lab.plan
    stands = environments.stand(plan, environments.read(lab.root), lab.snippets, door, force=force)
    failed = 0
    for stand in stands:
        if stand.todo and not stand.closed and stand.door is None:
            failed |= _here(lab, stand)
    for named, some in environments.errands(plan, stands).items():
        failed |= _elsewhere(lab, named, some)
    for stand in stands:
        name, number = stand.environment.name, terminal.plural(len(stand.todo), "snippet")
        if not stand.todo:
            terminal.note(f"{name}: fresh")
        elif stand.closed:
            stay = "stays" if len(stand.todo) == 1 else "stay"
            terminal.note(f"{name}: {number} {stay} stale: {stand.closed}")
    return failed


def _here(lab: Project, stand: Stand) -> int:
    name = stand.environment.name
    terminal.note(f"{name}: {terminal.plural(len(stand.todo), 'snippet')}, here")
    with terminal.progress(len(stand.todo), name) as on_event, printing_results() as runs:
        runs.update(record(lab.plan, name, stand.todo, force=True, on_event=on_event))
    return int(any(not run.ok for run in runs.values()))


def _elsewhere(lab: Project, door: far.Door, stands: list[Stand]) -> int:
    names = ", ".join(stand.environment.name for stand in stands)
    total = sum(len(stand.todo) for stand in stands)
    terminal.note(f"{names}: {terminal.plural(total, 'snippet')}, on {door.on}")
    errands = [
        replace(errand, keep=taking.keep(lab.root, errand.environment, errand.snippets))
        for errand in (stand.errand for stand in stands)
    ]
    failed = 0
    with terminal.progress(total, "recording") as on_event:
        outcomes = far.run_all(errands, lab.plan, door, on_event=on_event)
    for stand, outcome in zip(stands, outcomes):
        with printing_results() as runs:
            terminal.note(f"{stand.environment.name}:")
            runs.update(outcome.runs)
        failed |= tell_refused(outcome.refused, ["all"])
        failed |= int(any(not run.ok for run in outcome.runs.values()))
    return failed
