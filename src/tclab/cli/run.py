"""``tclab run``: run what is stale."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from tclab import terminal
from tclab.cli.doors import FILE, on_option, run_bundle, tell_refused
from tclab.cli.project import EXIT_STATUS, printing_results, project
from tclab.engine import schedule
from tclab.engine.doors import far
from tclab.engine.plan import Plan
from tclab.errors import RunFailed
from tclab.model import Snippet


@click.command(epilog=EXIT_STATUS, short_help="Run what is stale.")
@click.argument("words", metavar="[SNIPPET]...", nargs=-1)
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
@on_option
@click.pass_context
def run(
    context: click.Context,
    words: tuple[str, ...],
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
        if words or force or on:
            raise click.UsageError("a bundle says itself what runs: only -o and -j go with it")
        context.exit(run_bundle(bundle, out, jobs))
    lab = project(context)
    chosen = lab.select(words)
    left_out = lacking(lab.plan, chosen, named=bool(words))
    if left_out:
        terminal.note(f"{left_out} need{'s' * (left_out == 1)} what is not here: see tclab list")
    todo = lab.plan.to_run(chosen, force=force)
    if not todo:
        fresh = terminal.plural(len(chosen) - left_out, "fresh run")
        terminal.note(f"Nothing is stale: {fresh}.")
        context.exit(lab.status(words))
    if door := far.Door.given(on, insecure=insecure):
        with terminal.progress(len(todo)) as on_event, printing_results() as runs:
            outcome = far.run(todo, lab.plan, door, on_event=on_event, force=force)
            runs.update(outcome.runs)
        status = tell_refused(outcome.refused, words)
        context.exit(status or lab.status(words, runs.values()))
    with terminal.progress(len(todo)) as on_event, printing_results() as runs:
        runs.update(schedule.run(todo, lab.plan, jobs=jobs, on_event=on_event, force=force))
    context.exit(lab.status(words, runs.values()))


def lacking(plan: Plan, chosen: Sequence[Snippet], *, named: bool) -> int:
    """How many this machine cannot run; where one that is named cannot, that is an error."""
    missing = {s.name: status.why for s in chosen if (status := plan.live(s)).state == "lacking"}
    if missing and named and len(chosen) == 1:
        ((name, needs),) = missing.items()
        raise RunFailed(
            f"snippets/{name}.py",
            f"needs {', '.join(needs)}, which is not here",
            f"see a recording: tclab show {name}; or run it on a machine that has it",
        )
    return len(missing)
