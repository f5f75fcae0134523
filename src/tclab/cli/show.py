"""``tclab show``: a stored run, as text."""

from __future__ import annotations

import click

from tclab import render
from tclab.cli import selection
from tclab.cli.project import STATUS, Project, project
from tclab.errors import RunFailed
from tclab.model import Run, Snippet
from tclab.store import recordings


@click.command(epilog=STATUS, short_help="A stored run, as text.")
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
    lab = project(context)
    snippet = selection.one(word, lab.snippets)
    for number, shown in enumerate(stored_runs(lab, snippet, name)):
        if number:
            click.echo()
        click.echo(run_text(snippet, shown, artifact))


def stored_runs(lab: Project, snippet: Snippet, name: str | None) -> list[Run]:
    """The runs to show; RunFailed with the next step where there is none."""
    live = lab.store.failed(snippet) or lab.store.load(snippet)
    recorded = recordings.load_all(lab.root, snippet)
    if name not in (None, "here"):
        found = [r for r in recorded if r.environment == name]
    else:
        found = [live] if live else [] if name else recorded
    if not found:
        step = (
            f"tclab run {snippet.name}"
            if name in (None, "here")
            else (f"tclab record {name} {snippet.name}, on that machine")
        )
        raise RunFailed(snippet.name, f"has no fresh run {f'in {name}' if name else 'here'}", step)
    return found


def run_text(snippet: Snippet, shown: Run, artifact: str | None) -> str:
    """A run, or one artifact of it, as text."""
    if artifact is None:
        return render.run_text(shown)
    try:
        return render.text(shown.artifact(artifact))
    except KeyError as error:
        raise RunFailed(snippet.name, str(error.args[0]), "choose one of those") from None
