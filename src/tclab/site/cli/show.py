"""Define ``tclab show``: print a stored run as text."""

from __future__ import annotations

import click

from tclab import render
from tclab.cli import EXIT_STATUS, terminal
from tclab.errors import RunFailed
from tclab.model import Run, Snippet
from tclab.site.cli import selection
from tclab.site.cli.project import open_project
from tclab.site.engine import failures
from tclab.site.engine.plan import Plan


@click.command(epilog=EXIT_STATUS, short_help="A stored run, as text.")
@click.argument("word", metavar="SNIPPET")
@click.option("--env", "name", metavar="NAME", help="Here, or an environment of records/.")
@click.option("-a", "--artifact", metavar="NAME", help="Only this artifact.")
@click.pass_context
def show(context: click.Context, word: str, name: str | None, artifact: str | None) -> None:
    """Show a snippet's stored run as text: its stamp, output and artifacts.

    Without --env: the run of this machine, or else the recordings. Long output suits a pager:
    tclab show SNIPPET | less.

    \b
    Examples:
      tclab show print_breaks
      tclab show triton/softmax --env h200-torch2.13
      tclab show print_breaks --artifact breaks
    """
    project = open_project(context)
    snippet = selection.select_one(word, project.snippets, project.unreadable)
    for number, run in enumerate(stored_runs(project.plan, snippet, name)):
        if number:
            click.echo()
        click.echo(run_text(snippet, run, artifact))
        if not run.ok:
            terminal.print_error(failures.make_error(run))


def stored_runs(plan: Plan, snippet: Snippet, name: str | None) -> list[Run]:
    """Return the runs to show. Raises RunFailed, with a next step, if there are none."""
    if name not in (None, "here"):
        recording = plan.recorded_status(snippet, name)
        runs = [recording.run()] if recording.fresh else []
    else:
        runs = local_runs(plan, snippet)
        if not runs and name is None:
            runs = [status.run() for status in plan.recorded_statuses(snippet) if status.fresh]
    if not runs:
        raise no_run_error(snippet, name)
    return runs


def local_runs(plan: Plan, snippet: Snippet) -> list[Run]:
    """Return the last run of this machine, if any; print a note if it is stale."""
    status = plan.local_status(snippet)
    if status.state == "failed":
        failed = plan.store.load_failed(snippet)
        return [failed] if failed else []
    if status.state == "stale":
        terminal.print_note(f"{snippet.name} is stale: {', '.join(status.why)}")
    return [status.run()] if status.head else []


def no_run_error(snippet: Snippet, name: str | None) -> RunFailed:
    """Return the error for a snippet without a run to show."""
    if name in (None, "here"):
        where, step = "here", f"tclab run {snippet.name}"
    else:
        where, step = f"in {name}", f"tclab record {name} {snippet.name}, on that machine"
    return RunFailed(snippet.name, f"has no fresh run {where}", step)


def run_text(snippet: Snippet, run: Run, artifact: str | None) -> str:
    """Return a run, or one artifact of it, as text."""
    if artifact is None:
        return render.run_text(run)
    try:
        return render.text(run.artifact(artifact))
    except KeyError as error:
        raise RunFailed(snippet.name, str(error.args[0]), "choose one of those") from None
