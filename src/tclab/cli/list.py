"""``tclab list``: what there is, and how fresh."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import click

from tclab import terminal
from tclab.cli.project import EXIT_STATUS, project
from tclab.engine.plan import Plan
from tclab.model import Snippet
from tclab.store import recordings
from tclab.store.status import Status


@click.command("list", epilog=EXIT_STATUS, short_help="What there is, and how fresh.")
@click.argument("words", metavar="[SNIPPET]...", nargs=-1)
@click.option("--names", is_flag=True, help="Names only, one a line, for scripts.")
@click.pass_context
def list_(context: click.Context, words: tuple[str, ...], names: bool) -> None:
    """List snippets: what each needs, how fresh its runs are, what it shows.

    The column "here" is this machine; there is one more for each environment in records/.

    \b
    fresh         the run holds: same code, same PyTorch, same machine
    stale         something it depends on has changed since: below the table is said what
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
    chosen = lab.select(words)
    if names:
        click.echo("\n".join(s.name for s in chosen))
        context.exit(lab.status(words))
    environments = ["here", *recordings.environments(lab.root)]
    every = {s: [status(lab.plan, s, name) for name in environments] for s in chosen}
    terminal.console().print(terminal.snippet_table(environments, every))
    for line in reasons(every):
        click.echo(line)
    context.exit(lab.status(words))


def status(plan: Plan, snippet: Snippet, environment: str) -> Status:
    """How a snippet stands in an environment, this machine among them."""
    return plan.live(snippet) if environment == "here" else plan.recorded(snippet, environment)


def reasons(every: Mapping[Snippet, Sequence[Status]]) -> Iterator[str]:
    """A line for each thing that differs: where, what, and which snippets it concerns."""
    concerned: dict[tuple[str, str, str], list[str]] = {}
    for one in chain.from_iterable(every.values()):
        for why in one.why if one.state in ("stale", "broken") else ():
            concerned.setdefault((one.environment, one.state, why), []).append(one.snippet.name)
    for (environment, state, why), names in concerned.items():
        listed = names[0] if len(names) == 1 else f"{len(names)} snippets"
        yield f"{environment}, {state}: {why} ({listed})"
