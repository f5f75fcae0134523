"""Define ``tclab run``: run the stale snippets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from tclab.cli import EXIT_STATUS, terminal
from tclab.errors import RunFailed
from tclab.model import Snippet
from tclab.site import run_views
from tclab.site.cli.project import open_project, print_results_at_end
from tclab.site.cli.remote import FILE, add_on_option, print_refused, run_bundle
from tclab.site.engine import schedule
from tclab.site.engine.plan import Plan
from tclab.site.remote import client


@click.command(epilog=EXIT_STATUS, short_help="Run what is stale.")
@click.argument("selectors", metavar="[SNIPPET]...", nargs=-1)
@click.option("-f", "--force", is_flag=True, help="Run what is fresh, too.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    envvar="TCLAB_JOBS",
    help="How many at a time. Default: TCLAB_JOBS, or one for each core.",
)
@click.option("--bundle", type=FILE, metavar="JOBS", help="Run the jobs of a file instead.")
@click.option("-o", "--out", type=FILE, metavar="RUNS", help="Where a bundle's runs go.")
@add_on_option
@click.pass_context
def run(
    context: click.Context,
    selectors: tuple[str, ...],
    force: bool,
    jobs: int | None,
    bundle: Path | None,
    out: Path | None,
    on: str | None,
    insecure: bool,
) -> None:
    """Run snippets, each in a process of its own; by default whatever is stale.

    Those that need what this machine lacks (a GPU, say) are left out, unless they are named:
    then that is an error. A run that fails, hangs or eats memory ends alone; the others go
    on, and earlier results stay.

    \b
    Examples:
      tclab run
      tclab run snippets/dynamo/bytecode_is_rewritten.py
      tclab run triton --force --jobs 1
      tclab run --on local:4                     four workers of Dask's, here
      tclab run --bundle jobs.tar -o runs.tar    on a machine without a network
    """
    if bundle is not None:
        if selectors or force or on:
            raise click.UsageError("a bundle says itself what runs: only -o and -j go with it")
        context.exit(run_bundle(bundle, out, jobs))
    project = open_project(context)
    chosen = project.select(selectors)
    left_out = count_lacking(project.plan, chosen, named=bool(selectors))
    if left_out:
        terminal.print_note(
            f"{left_out} need{'s' * (left_out == 1)} what is not here: see tclab list"
        )
    todo = project.plan.snippets_to_run(chosen, force=force)
    if not todo:
        fresh = terminal.plural(len(chosen) - left_out, "fresh run")
        terminal.print_note(f"Nothing is stale: {fresh}.")
        context.exit(project.status(selectors))
    if cluster := client.ClusterAddress.from_option(on, insecure=insecure):
        with run_views.progress(len(todo)) as on_event, print_results_at_end() as runs:
            outcome = client.run(todo, project.plan, cluster, on_event=on_event, force=force)
            runs.update(outcome.runs)
        status = print_refused(outcome.refused, selectors)
        context.exit(status or project.status(selectors, runs.values()))
    with run_views.progress(len(todo)) as on_event, print_results_at_end() as runs:
        runs.update(schedule.run(todo, project.plan, jobs=jobs, on_event=on_event, force=force))
    context.exit(project.status(selectors, runs.values()))


def count_lacking(plan: Plan, chosen: Sequence[Snippet], *, named: bool) -> int:
    """Return the number of snippets that this machine cannot run. Raises RunFailed if a single
    snippet was `named` and is one of them.
    """
    missing = {
        s.name: status.why for s in chosen if (status := plan.local_status(s)).state == "lacking"
    }
    if missing and named and len(chosen) == 1:
        ((name, needs),) = missing.items()
        raise RunFailed(
            f"snippets/{name}.py",
            f"needs {', '.join(needs)}, which is not here",
            f"see a recording: tclab show {name}; or run it on a machine that has it",
        )
    return len(missing)
