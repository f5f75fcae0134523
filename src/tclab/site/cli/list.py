"""Define ``tclab list``: list the snippets and the status of their runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import click

from tclab.cli import EXIT_STATUS, terminal
from tclab.model import Snippet
from tclab.site import run_views
from tclab.site.cli.project import open_project
from tclab.site.engine.plan import Plan
from tclab.site.store import recordings
from tclab.site.store.status import Status


@click.command("list", epilog=EXIT_STATUS, short_help="Snippets, and how fresh their runs are.")
@click.argument("selectors", metavar="[SNIPPET]...", nargs=-1)
@click.option("--names", is_flag=True, help="Names only, one a line, for scripts.")
@click.pass_context
def list_(context: click.Context, selectors: tuple[str, ...], names: bool) -> None:
    """List snippets: what each needs, how fresh its runs are, what it shows.

    The column "here" is this machine; there is one more for each environment in records/.

    \b
    fresh         the run holds: same code, same PyTorch, same machine
    stale         something it depends on has changed: the lines below the table name it
    never         it has not been run
    failed        the last run failed; tclab show says how; of a recording, below the table
    needs cuda    it cannot run here; the site shows a recording
    broken        a recording that is truncated or was edited
    -             not recorded there

    \b
    Examples:
      tclab list
      tclab list triton inductor
      tclab list --names | grep softmax
    """
    project = open_project(context)
    chosen = project.select(selectors)
    if names:
        click.echo("\n".join(s.name for s in chosen))
        context.exit(project.status(selectors))
    environments = ["here", *recordings.environments(project.root)]
    statuses = {s: [status(project.plan, s, name) for name in environments] for s in chosen}
    terminal.console().print(run_views.snippet_table(environments, statuses))
    for line in reasons(statuses):
        click.echo(line)
    context.exit(project.status(selectors))


def status(plan: Plan, snippet: Snippet, environment: str) -> Status:
    """Return the status of a snippet in an environment; ``here`` is this machine."""
    return (
        plan.local_status(snippet)
        if environment == "here"
        else plan.recorded_status(snippet, environment)
    )


def reasons(statuses: Mapping[Snippet, Sequence[Status]]) -> Iterator[str]:
    """Yield a line for each reason why runs are not fresh, with the environment, the state and the
    snippets that the reason concerns.
    """
    snippets: dict[tuple[str, str, str], list[str]] = {}
    for one in chain.from_iterable(statuses.values()):
        for why in one.why if one.state in ("stale", "broken", "failed") else ():
            snippets.setdefault((one.environment, one.state, why), []).append(one.snippet.name)
    for (environment, state, why), names in snippets.items():
        listed = names[0] if len(names) == 1 else f"{len(names)} snippets"
        yield f"{environment}, {state}: {why} ({listed})"
