"""``tclab list``: what there is, and how fresh."""

from __future__ import annotations

import click

from tclab import terminal
from tclab.cli import selection
from tclab.cli.project import STATUS, project
from tclab.store import recordings


@click.command("list", epilog=STATUS, short_help="What there is, and how fresh.")
@click.argument("words", metavar="[SNIPPET]...", nargs=-1)
@click.option("--names", is_flag=True, help="Names only, one a line, for scripts.")
@click.pass_context
def list_(context: click.Context, words: tuple[str, ...], names: bool) -> None:
    """List snippets: what each needs, how fresh its runs are, what it shows.

    The column "here" is this machine; there is one more for each environment in records/.

    \b
    fresh         the run holds: same code, same PyTorch, same machine
    stale         something it depends on has changed since
    never         it has not been run
    failed        the last run failed; tclab show says how
    needs cuda    it cannot run here; the site shows a recording
    broken        a recording that is truncated or was edited
    -             not recorded there

    \b
    Examples:
      tclab list
      tclab list triton inductor
      tclab list --names | grep softmax
    """
    lab = project(context)
    chosen = selection.select(words, lab.snippets)
    if names:
        click.echo("\n".join(s.name for s in chosen))
        return
    environments = ["here", *recordings.environments(lab.root)]
    terminal.console().print(terminal.snippet_table(chosen, environments, lab.state))
