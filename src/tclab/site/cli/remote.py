"""Define the options and messages for other machines in `run` and `record`, and the command
`worker`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import click

from tclab.cli import EXIT_STATUS, terminal
from tclab.errors import TclabError
from tclab.site import run_views
from tclab.site.remote import announcements, bundle
from tclab.site.remote import worker as worker_process

_Command = TypeVar("_Command", bound=Callable[..., object])

FILE = click.Path(dir_okay=False, path_type=Path)


def add_on_option(command: _Command) -> _Command:
    """Add the options ``--on`` and ``--insecure`` to a command."""
    command = click.option(
        "--insecure",
        is_flag=True,
        help="Let --on name another machine without TLS: whoever reaches the scheduler can run "
        "code on it, on its workers and here.",
    )(command)
    return click.option(
        "--on",
        metavar="ADDRESS",
        envvar="TCLAB_ON",
        help="Run on a Dask cluster: tcp://127.0.0.1:8786, tls://HOST:8786, or local:4 for four "
        "workers here. Default: TCLAB_ON, or this machine alone.",
    )(command)


_START_WORKER = "start a worker that has it: tclab worker ADDRESS"


def print_refused(
    reasons: Mapping[str, str], selectors: Sequence[str], step: str = _START_WORKER
) -> int:
    """Print the snippets that no worker could run, by reason. Return 1 if the user named some of
    them, else 0.
    """
    by_reason: dict[str, list[str]] = {}
    for name, why in reasons.items():
        by_reason.setdefault(why, []).append(name)
    for why, names in by_reason.items():
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        place = f"{', '.join(names[:8])}{more}"
        terminal.print_error(TclabError(place, f"ran nowhere: {why}", step))
    return int(bool(reasons and selectors))


def run_bundle(jobs: Path, out: Path | None, width: int | None) -> int:
    """Run ``tclab run --bundle``; return the exit status."""
    if out is None:
        raise TclabError(str(jobs), "where are its runs to go?", f"say -o {jobs.stem}-runs.tar")
    with run_views.progress(0) as on_event:
        ran = bundle.run_jobs(jobs, out, on_event=on_event, width=width)
    terminal.print_note(f"{out}: {terminal.plural(len(ran.runs), 'run')}; bring it back, then:\n"
                  f"  tclab record --import {out.name}")  # fmt: skip
    for run in ran.runs.values():
        if not run.ok and run.failure is not None:
            terminal.print_note(f"{run.snippet} failed: {run.failure.message.splitlines()[0]}")
    return print_refused(ran.refused, ["all"], "run the same file with a Python that has it")


@click.command(epilog=EXIT_STATUS, short_help="Run others' jobs on this machine.")
@click.argument("scheduler", metavar="ADDRESS")
@click.option(
    "--env",
    "pythons",
    multiple=True,
    metavar="VENV",
    help="A venv, or the Python in it, that jobs may ask for by its PyTorch; may be given several "
    "times. Default: the one that runs this command.",
)
@click.option(
    "--slots", type=click.IntRange(min=1), metavar="N", help="Jobs at a time. Default: cores."
)
@click.option("--name", default="", help="What clients call it. Default: the machine's name.")
@click.option("--insecure", is_flag=True, help="Let ADDRESS be another machine's, without TLS.")
def worker(
    scheduler: str, pythons: tuple[str, ...], slots: int | None, name: str, insecure: bool
) -> None:
    """Run jobs for whoever uses the Dask scheduler at ADDRESS, until Ctrl-C.

    What this machine has is measured, and announced as Dask's resources: its GPUs, the PyTorch of
    each environment, memory, cores, a C++ compiler. A job brings the project's files and the tclab
    that runs it; each environment needs PyTorch and nothing else.

    \b
    Examples:
      dask scheduler --host 127.0.0.1
      tclab worker tcp://127.0.0.1:8786
      tclab worker tls://box:8786 --env .venv --env .venv-torch2.15.0
      CUDA_VISIBLE_DEVICES=1 tclab worker tls://box:8786 --name box-gpu1
    """
    worker_options = worker_process.Worker(scheduler, pythons, slots or 0, name, insecure=insecure)
    worker_process.run(worker_options, on_start=_print_announcement)


def _print_announcement(announcement: announcements.Announcement) -> None:
    """Print the announcement of a worker."""
    name, jobs = announcement["name"], terminal.plural(announcement["slots"], "job")
    terminal.print_note(f"worker {name}: {jobs} at a time, {announcement['memory']:,} MiB")
    for environment in announcement["environments"]:
        made, problem = environment["provenance"], environment["problem"]
        parts = [str(made["gpu"])] * bool(made["gpu"]) + environment["has"]
        has = ", ".join(parts) or "no compiler, no GPU"
        terminal.print_note(f"  PyTorch {made['torch'] or 'none'}: {problem or has}")
