"""``tclab record``: keep this machine's runs for others, or have them made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from tclab import terminal
from tclab.cli.doors import FILE, on_option, tell_refused
from tclab.cli.project import EXIT_STATUS, Project, print_results, printing_results, project
from tclab.cli.record_all import record_all
from tclab.engine.doors import bundle as bundles
from tclab.engine.doors import far, taking
from tclab.engine.record import record as record_runs
from tclab.engine.record import stale
from tclab.model import Snippet


@click.command(epilog=EXIT_STATUS, short_help="Keep this machine's runs for others.")
@click.argument("words", metavar="[ENVIRONMENT] [SNIPPET]...", nargs=-1)
@click.option("-f", "--force", is_flag=True, help="Record anew what is fresh, too.")
@click.option("--all", "everything", is_flag=True, help="What environments.toml lists.")
@click.option("--bundle", type=FILE, metavar="JOBS", help="Write jobs for a machine elsewhere.")
@click.option("--import", "runs", type=FILE, metavar="RUNS", help="Take a bundle's runs in.")
@click.option("--torch", default="", metavar="X.Y", help="Of elsewhere: the PyTorch wanted.")
@click.option("--gpu", default="", metavar="NAME", help="Of --on: a part of the GPU's name.")
@on_option
@click.pass_context
def record(
    context: click.Context,
    words: tuple[str, ...],
    force: bool,
    everything: bool,
    bundle: Path | None,
    runs: Path | None,
    torch: str,
    gpu: str,
    on: str | None,
    insecure: bool,
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
      tclab record cpu-torch2.15 --torch 2.15 --on tcp://127.0.0.1:8786
      tclab record h200-torch2.13 --torch 2.13 --bundle jobs.tar    then, there and here:
      tclab run --bundle jobs.tar -o runs.tar
      tclab record --import runs.tar
      tclab record --all                               see environments.toml
    """
    lab = project(context)
    door = far.Door.given(on, insecure=insecure)
    if runs is not None:
        context.exit(_take(lab, runs, words))
    if everything and words:
        raise click.UsageError("--all is of all that environments.toml lists: name none")
    if everything:
        context.exit(record_all(lab, door, force=force))
    if not words:
        raise click.UsageError("name the environment, such as h200-torch2.13")
    environment, chosen = words[0], lab.select(words[1:]) if words[1:] else None
    if bundle is not None and gpu:
        raise click.UsageError("--gpu is of --on: a bundle runs where you bring it")
    if door is not None or bundle is not None:
        torch, gpu = taking.wanted(lab.root, environment, torch, gpu)
        todo = stale(lab.plan, environment, chosen, force=force)
        if bundle is not None:
            _write_jobs(lab, bundle, todo, environment, torch)
        elif door is not None:
            errand = far.Errand(todo, environment, force=True, torch=torch, gpu=gpu)
            context.exit(_elsewhere(lab, errand, door, words[1:]))
        return
    total = len(chosen or lab.snippets)
    with terminal.progress(total, "recording") as on_event, printing_results() as made:
        made.update(record_runs(lab.plan, environment, chosen, force=force, on_event=on_event))
    context.exit(int(any(not run.ok for run in made.values())))


def _write_jobs(
    lab: Project, path: Path, todo: list[Snippet], environment: str, torch: str
) -> None:
    jobs = terminal.plural(bundles.write_jobs(path, lab.plan, todo, environment, torch), "job")
    there = f"PYTHONPATH=src python -m tclab run --bundle {path.name} -o runs.tar"
    terminal.note(f"{path}: {jobs}; take it and src/ there, then:\n  {there}")


def _elsewhere(lab: Project, errand: far.Errand, door: far.Door, named: Sequence[str]) -> int:
    """On a cluster; the status."""
    if not errand.snippets:
        terminal.note(f"{errand.environment}: fresh")
        return 0
    keep = taking.keep(lab.root, errand.environment, errand.snippets)
    errand = replace(errand, keep=keep)
    total = len(errand.snippets)
    with terminal.progress(total, "recording") as on_event, printing_results() as made:
        (outcome,) = far.run_all([errand], lab.plan, door, on_event=on_event)
        made.update(outcome.runs)
    refused = tell_refused(outcome.refused, named)
    return refused or int(any(not run.ok for run in made.values()))


def _take(lab: Project, path: Path, words: tuple[str, ...]) -> int:
    names = [snippet.name for snippet in lab.select(words)] if words else []
    taken, refused = taking.take(path, lab.plan, lab.snippets, names)
    print_results(taken)
    return tell_refused(refused, ["all"]) or int(any(not run.ok for run in taken.values()))
