"""Define ``tclab record``: record runs made on this machine, on a cluster, or from a bundle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from tclab.cli import EXIT_STATUS, terminal
from tclab.model import Snippet
from tclab.site import run_views
from tclab.site.cli.project import Project, open_project, print_results, print_results_at_end
from tclab.site.cli.record_all import record_all
from tclab.site.cli.remote import FILE, add_on_option, print_refused
from tclab.site.engine.record import record as record_runs
from tclab.site.engine.record import snippets_to_record
from tclab.site.remote import bundle as bundles
from tclab.site.remote import bundle_import, client


@click.command(epilog=EXIT_STATUS, short_help="Keep this machine's runs for others.")
@click.argument("words", metavar="[ENVIRONMENT] [SNIPPET]...", nargs=-1)
@click.option("-f", "--force", is_flag=True, help="Record anew what is fresh, too.")
@click.option(
    "--all", "everything", is_flag=True, help="Record the environments of environments.toml."
)
@click.option(
    "--bundle", type=FILE, metavar="JOBS", help="Write a file of jobs for another machine."
)
@click.option("--import", "runs", type=FILE, metavar="RUNS", help="Import the runs of a bundle.")
@click.option(
    "--torch", default="", metavar="X.Y", help="With --on or --bundle: the PyTorch to use."
)
@click.option("--gpu", default="", metavar="NAME", help="With --on: a part of the GPU's name.")
@add_on_option
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

    This is for machines that other people do not have. ENVIRONMENT names this machine, for
    example h200-torch2.13. Without names of snippets, it runs every snippet that needs a GPU,
    and all that ENVIRONMENT already has. Only this command writes recorded runs. Commit the
    files that it wrote: each says from which PyTorch, device and day it is. A failed run is
    reported and not recorded; the former recording stays.

    Where click and rich are missing, python -m tclab record does the same, and needs only the
    packages that come with PyTorch.

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
    project = open_project(context)
    cluster = client.ClusterAddress.from_option(on, insecure=insecure)
    if runs is not None:
        context.exit(_import_runs(project, runs, words))
    if everything and words:
        raise click.UsageError(
            "--all records every environment of environments.toml: give no names"
        )
    if everything:
        context.exit(record_all(project, cluster, force=force))
    if not words:
        raise click.UsageError("name the environment, such as h200-torch2.13")
    environment, chosen = words[0], project.select(words[1:]) if words[1:] else None
    if bundle is not None and gpu:
        raise click.UsageError("--gpu needs --on: you choose the machine of a bundle")
    if cluster is not None or bundle is not None:
        torch, gpu = bundle_import.required_versions(project.root, environment, torch, gpu)
        todo = snippets_to_record(project.plan, environment, chosen, force=force)
        if bundle is not None:
            _write_jobs(project, bundle, todo, environment, torch)
        elif cluster is not None:
            request = client.RunRequest(todo, environment, force=True, torch=torch, gpu=gpu)
            context.exit(_record_on_cluster(project, request, cluster, words[1:]))
        return
    if not snippets_to_record(project.plan, environment, chosen, force=force):
        terminal.print_note(f"{environment}: {_nothing_to_record(project, environment, chosen)}")
        return
    total = len(chosen or project.snippets)
    with run_views.progress(total, "recording") as on_event, print_results_at_end() as made:
        made.update(record_runs(project.plan, environment, chosen, force=force, on_event=on_event))
    context.exit(int(any(not run.ok for run in made.values())))


def _nothing_to_record(project: Project, environment: str, chosen: list[Snippet] | None) -> str:
    """Return why there is nothing to record."""
    if chosen or any(
        project.plan.recorded_status(s, environment).state != "never" for s in project.snippets
    ):
        return "fresh"
    return "no snippet needs a GPU, and nothing is recorded there: name the snippets to record"


def _write_jobs(
    project: Project, path: Path, todo: list[Snippet], environment: str, torch: str
) -> None:
    jobs = terminal.plural(bundles.write_jobs(path, project.plan, todo, environment, torch), "job")
    there = f"PYTHONPATH=src python -m tclab run --bundle {path.name} -o runs.tar"
    terminal.print_note(f"{path}: {jobs}; take it and src/ there, then:\n  {there}")


def _record_on_cluster(
    project: Project,
    request: client.RunRequest,
    cluster: client.ClusterAddress,
    selectors: Sequence[str],
) -> int:
    """Record on a cluster; return the exit status."""
    if not request.snippets:
        terminal.print_note(f"{request.environment}: fresh")
        return 0
    keep = bundle_import.recorder(project.plan, request.environment, request.snippets)
    request = replace(request, keep=keep)
    total = len(request.snippets)
    with run_views.progress(total, "recording") as on_event, print_results_at_end() as made:
        (outcome,) = client.run_all([request], project.plan, cluster, on_event=on_event)
        made.update(outcome.runs)
    refused = print_refused(outcome.refused, selectors)
    return refused or int(any(not run.ok for run in made.values()))


def _import_runs(project: Project, path: Path, selectors: tuple[str, ...]) -> int:
    """Import a bundle's runs; return the exit status."""
    names = [snippet.name for snippet in project.select(selectors)] if selectors else []
    imported, refused = bundle_import.import_runs(path, project.plan, project.snippets, names)
    print_results(imported)
    return print_refused(refused, ["all"]) or int(any(not run.ok for run in imported.values()))
