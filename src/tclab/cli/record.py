"""``tclab record``: keep this machine's runs for others."""

from __future__ import annotations

import click

from tclab import terminal
from tclab.cli.project import EXIT_STATUS, printing_results, project
from tclab.engine.record import record as record_runs


@click.command(epilog=EXIT_STATUS, short_help="Keep this machine's runs for others.")
@click.argument("environment_name", metavar="ENVIRONMENT")
@click.argument("words", metavar="[SNIPPET]...", nargs=-1)
@click.option("-f", "--force", is_flag=True, help="Record anew what is fresh, too.")
@click.pass_context
def record(
    context: click.Context, environment_name: str, words: tuple[str, ...], force: bool
) -> None:
    """Run snippets on this machine and keep the results in records/ENVIRONMENT/.

    For machines that others lack. ENVIRONMENT names this one, for example h200-torch2.13.
    Without names: every snippet that needs a GPU, and all that ENVIRONMENT already has.
    Nothing else writes recorded runs. Commit what it wrote: plain files, each with the PyTorch,
    the device and the day it came from. A failed run is reported and not recorded; the former
    recording stays.

    Where click and rich are missing, python -m tclab record does the same with what PyTorch
    itself brings.

    \b
    Examples:
      tclab record h200-torch2.13
      tclab record h200-torch2.13 triton/softmax --force
      PYTHONPATH=src python -m tclab record a100-torch2.11
    """
    lab = project(context)
    chosen = lab.select(words) if words else None
    total = len(chosen or lab.snippets)
    with terminal.progress(total, "recording") as on_event, printing_results() as runs:
        runs.update(record_runs(lab.plan, environment_name, chosen, force=force, on_event=on_event))
    if any(not r.ok for r in runs.values()):
        context.exit(1)
