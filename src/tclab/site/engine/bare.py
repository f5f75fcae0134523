"""Run `record` and `run --bundle` without click and rich; refuse other commands with the reason."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tclab.errors import TclabError
from tclab.model import Snippet
from tclab.site import snippets
from tclab.site.engine import events, failures
from tclab.site.engine.plan import Plan
from tclab.site.engine.record import record
from tclab.site.remote import bundle
from tclab.system.project import project_root

_ABOUT = "The command where neither click nor rich is installed."
_INSTALL_STEP = "Every other command needs click and rich: pip install 'torch-compile-lab[explain]'"


def main(argv: list[str]) -> int:
    """Run ``python -m tclab record …`` where only PyTorch is installed; return the exit status."""
    if argv and argv[0] not in ("record", "run", "-h", "--help"):
        print(_missing_packages(argv[0]), file=sys.stderr)
        return 1
    parser = argparse.ArgumentParser(
        prog="python -m tclab",
        description=_ABOUT,
        epilog=_INSTALL_STEP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("record", help="run snippets here and keep the results")
    command.add_argument("environment", help="the name of this machine: h200-torch2.11")
    command.add_argument("names", nargs="*", metavar="SNIPPET", help="TOPIC or TOPIC/NAME")
    command.add_argument("-f", "--force", action="store_true", help="what is fresh, too")
    command.add_argument("-j", "--jobs", type=int, help="how many at a time")
    run_command = commands.add_parser("run", help="run the jobs of a bundle")
    run_command.add_argument("--bundle", type=Path, required=True, metavar="JOBS")
    run_command.add_argument("-o", "--out", type=Path, required=True, metavar="RUNS")
    run_command.add_argument("-j", "--jobs", type=int, help="how many at a time")
    arguments = parser.parse_args(argv)
    try:
        if arguments.command == "run":
            return _run_bundle(arguments)
        return _record_plainly(arguments)
    except KeyboardInterrupt:
        print("interrupted\n  next: the same command goes on where it stopped", file=sys.stderr)
        return 130
    except TclabError as error:
        print(error, file=sys.stderr)
        return 1


def _missing_packages(command: str) -> TclabError:
    extra = "labs" if command == "lab" else "explain"
    step = f"pip install 'torch-compile-lab[{extra}]'"
    return TclabError(f"tclab {command}", "needs click and rich, which are not installed", step)


def _record_plainly(arguments: argparse.Namespace) -> int:
    root = project_root()
    chosen = _select(arguments.names, root) if arguments.names else None
    runs = record(
        Plan(root),
        arguments.environment,
        chosen,
        force=arguments.force,
        on_event=_print_event,
        jobs=arguments.jobs,
    )
    failed = [run for run in runs.values() if not run.ok]
    for run in failed:
        print(f"\n{failures.make_error(run)}", file=sys.stderr)
    print(f"{len(runs) - len(failed)} recorded, {len(failed)} failed")
    return 1 if failed else 0


def _run_bundle(arguments: argparse.Namespace) -> int:
    ran = bundle.run_jobs(
        arguments.bundle, arguments.out, on_event=_print_event, width=arguments.jobs
    )
    for run in ran.runs.values():
        if not run.ok:
            print(f"\n{failures.make_error(run)}", file=sys.stderr)
    print(f"{arguments.out}: {len(ran.runs)} runs, {len(ran.refused)} refused")
    return 1 if ran.refused or any(not run.ok for run in ran.runs.values()) else 0


def _select(names: list[str], root: Path) -> list[Snippet]:
    known = snippets.find(root)
    return [
        snippet
        for name in names
        for snippet in ([s for s in known if s.topic == name] or [snippets.get(name, root)])
    ]


def _print_event(event: events.Event) -> None:
    """Print a line for an event that a user needs to see."""
    if isinstance(event, events.Finished) and event.run is not None:
        run = event.run
        result = "ok" if run.failure is None else f"FAILED: {run.failure.cause}"
        print(f"{event.snippet}: {result}, {run.seconds:.1f} s", flush=True)
    elif isinstance(event, events.Skipped):
        print(f"{event.snippet}: skipped, needs {', '.join(sorted(event.missing))}", flush=True)
    elif isinstance(event, events.Refused):
        print(f"{event.snippet}: refused: {event.why}", flush=True)
    elif isinstance(event, events.WarmedUp) and event.note:
        print(event.note, flush=True)
