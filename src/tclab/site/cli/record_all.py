"""Run ``tclab record --all``: record each environment of a site that can be recorded now."""

from __future__ import annotations

from dataclasses import replace

from tclab.cli import terminal
from tclab.site import run_views
from tclab.site.cli.project import Project, print_results_at_end
from tclab.site.cli.remote import print_refused
from tclab.site.engine.record import record
from tclab.site.remote import bundle_import, client, environments
from tclab.site.remote.environments import EnvironmentPlan


def record_all(project: Project, cluster: client.ClusterAddress | None, *, force: bool) -> int:
    """Record the stale snippets, print why others stay stale, and return the exit status."""
    plan = project.plan
    plans = environments.plan_environments(
        plan, environments.read(project.root), project.snippets, cluster, force=force
    )
    failed = 0
    for planned in plans:
        if planned.todo and not planned.blocked and planned.cluster is None:
            failed |= _record_here(project, planned)
    for address, some in environments.group_by_cluster(plans).items():
        failed |= _record_on_cluster(project, address, some)
    for planned in plans:
        name = planned.environment.name
        number = terminal.plural(len(planned.todo), "snippet")
        if not planned.todo:
            terminal.print_note(f"{name}: fresh")
        elif planned.blocked:
            stay = "stays" if len(planned.todo) == 1 else "stay"
            terminal.print_note(f"{name}: {number} {stay} stale: {planned.blocked}")
    return failed


def _record_here(project: Project, plan: EnvironmentPlan) -> int:
    name = plan.environment.name
    terminal.print_note(f"{name}: {terminal.plural(len(plan.todo), 'snippet')}, here")
    with (
        run_views.progress(len(plan.todo), name) as on_event,
        print_results_at_end() as runs,
    ):
        runs.update(record(project.plan, name, plan.todo, force=True, on_event=on_event))
    return int(any(not run.ok for run in runs.values()))


def _record_on_cluster(
    project: Project, address: client.ClusterAddress, plans: list[EnvironmentPlan]
) -> int:
    names = ", ".join(planned.environment.name for planned in plans)
    total = sum(len(planned.todo) for planned in plans)
    terminal.print_note(f"{names}: {terminal.plural(total, 'snippet')}, on {address.address}")
    requests = [
        replace(
            request,
            keep=bundle_import.recorder(project.plan, request.environment, request.snippets),
        )
        for request in (planned.request for planned in plans)
    ]
    failed = 0
    with run_views.progress(total, "recording") as on_event:
        outcomes = client.run_all(requests, project.plan, address, on_event=on_event)
    for planned, outcome in zip(plans, outcomes):
        with print_results_at_end() as runs:
            terminal.print_note(f"{planned.environment.name}:")
            runs.update(outcome.runs)
        failed |= print_refused(outcome.refused, ["all"])
        failed |= int(any(not run.ok for run in outcome.runs.values()))
    return failed
