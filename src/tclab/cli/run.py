"""``tclab run``: run what is stale."""

from __future__ import annotations

from collections.abc import Sequence

import click

from tclab import machine, terminal
from tclab.cli import selection
from tclab.cli.project import STATUS, project, reporting
from tclab.engine import schedule
from tclab.errors import RunFailed
from tclab.model import Snippet


@click.command(epilog=STATUS, short_help="Run what is stale.")
@click.argument("words", metavar="[SNIPPET]...", nargs=-1)
@click.option("-f", "--force", is_flag=True, help="Run what is fresh, too.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), metavar="N", envvar="TCLAB_JOBS",
    help="How many at a time. Default: TCLAB_JOBS, or one for each core.",
)  # fmt: skip
@click.pass_context
def run(context: click.Context, words: tuple[str, ...], force: bool, jobs: int | None) -> None:
    """Run snippets, each in a process of its own; by default whatever is stale.

    Those that need what this machine lacks (a GPU, say) are left out, unless they are named:
    then that is an error. A run that fails, hangs or eats memory ends alone; the others go
    on, and earlier results stay.

    \b
    Examples:
      tclab run
      tclab run snippets/dynamo/bytecode_is_rewritten.py
      tclab run triton --force --jobs 1
    """
    lab = project(context)
    chosen = selection.select(words, lab.snippets)
    able = runnable(chosen, named=bool(words))
    if len(able) < len(chosen):
        left_out = len(chosen) - len(able)
        terminal.note(f"{left_out} need{'s' * (left_out == 1)} what is not here: see tclab list")
    stale = lab.stale(able, force=force)
    if not stale:
        terminal.note(f"Nothing is stale: {terminal.plural(len(able), 'fresh run')}.")
        return
    with terminal.progress(len(stale)) as on_event, reporting(stale) as runs:
        runs.update(
            schedule.run(
                stale, root=lab.root, store=lab.store, jobs=jobs, on_event=on_event, force=force
            )
        )
    if any(not r.ok for r in runs.values()):
        context.exit(1)


def runnable(chosen: Sequence[Snippet], *, named: bool) -> list[Snippet]:
    """What this machine can run; a named snippet that it cannot run is an error."""
    able = []
    for s in chosen:
        missing = machine.missing_needs(s)
        if not missing:
            able.append(s)
        elif named and len(chosen) == 1:
            raise RunFailed(
                f"snippets/{s.name}.py",
                f"needs {', '.join(sorted(missing))}, which is not here",
                f"see a recording: tclab show {s.name}; or run it on a machine that has it",
            )
    return able
