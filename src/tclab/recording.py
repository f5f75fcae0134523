"""Recordings: runs of a machine that others lack, committed under ``records/<environment>/``.

A recording is fresh while its snippet, and the local files that imports, are what they
were, and its files are what was written. Only `record` writes them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from tclab import events, runner, snippets
from tclab.errors import RecordingError, StoreError, TclabError
from tclab.events import OnEvent
from tclab.failures import error as as_error
from tclab.model import Run, Snippet
from tclab.store import folders, keys, run_files
from tclab.store.live import Store

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def environments(root: Path) -> list[str]:
    """The names of all recorded environments."""
    folder = Path(root) / "records"
    return sorted(p.name for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []


def folder(root: Path, environment: str, name: str) -> Path:
    """Where the recording of a snippet lies."""
    return Path(root) / "records" / environment / name


def load_all(root: Path, snippet: Snippet) -> list[Run]:
    """Every fresh recording of a snippet, by environment. `problems` has the others."""
    return [
        run_files.read(folder(root, name, snippet.name), snippet.name, RecordingError)
        for name in _recorded(root, snippet)
        if _problem(root, name, snippet) is None
    ]


def problems(root: Path, snippet: Snippet) -> list[RecordingError]:
    """What is wrong with the recordings of a snippet: stale, truncated, edited."""
    found = (_problem(root, name, snippet) for name in _recorded(root, snippet))
    return [problem for problem in found if problem is not None]


def state(root: Path, environment: str, snippet: Snippet) -> str:
    """How a recording stands, in a word: fresh, stale, broken, or - for none."""
    if not folder(root, environment, snippet.name).exists():
        return "-"
    problem = _problem(root, environment, snippet)
    if problem is None:
        return "fresh"
    return "stale" if isinstance(problem, _Stale) else "broken"


def orphans(root: Path, known: Iterable[Snippet]) -> list[RecordingError]:
    """Recordings whose snippet is no longer there."""
    names = {snippet.name for snippet in known}
    return [
        RecordingError(
            f"records/{environment}/{name}",
            f"there is no snippets/{name}.py",
            "remove the recording, or restore the snippet",
        )
        for environment in environments(root)
        for name in run_files.names(Path(root) / "records" / environment)
        if name not in names
    ]


class _Stale(RecordingError):
    """A whole recording of a snippet that has changed since."""


def _recorded(root: Path, snippet: Snippet) -> Iterator[str]:
    for environment in environments(root):
        if folder(root, environment, snippet.name).exists():
            yield environment


def _problem(root: Path, environment: str, snippet: Snippet) -> RecordingError | None:
    where = folder(root, environment, snippet.name)
    try:
        run = run_files.head(where, snippet.name, RecordingError)["run"]
    except RecordingError as error:
        return error
    place = where.relative_to(root).as_posix()
    if (run["snippet"], run["environment"]) != (snippet.name, environment):
        what = f"holds the run of {run['snippet']} on {run['environment']}"
        return RecordingError(place, what, "move it back")
    if run["source_key"] != keys.source_key(snippet):
        again = f"record it again on that machine: tclab record {environment} {snippet.name}"
        return _Stale(place, f"snippets/{snippet.name}.py has changed since it was recorded", again)
    return None


# --------------------------------------------------------------------------- writing


def write(root: Path, environment: str, run: Run) -> None:
    """Keep a good run as a recording. A failed one is dropped: what was there stays."""
    if not run.ok:
        return
    target = folder(root, environment, run.snippet)
    try:
        folders.sweep(target)
        folders.replace(target, lambda new: run_files.write(run, new))
    except OSError as error:
        raise StoreError(
            f"records/{environment}/{run.snippet}",
            f"cannot be written: {error.strerror or error}",
            "free some space, or make the folder writable",
        ) from None


def record(
    root: Path,
    environment: str,
    chosen: Sequence[Snippet] | None = None,
    *,
    force: bool = False,
    on_event: OnEvent = events.silent,
    store: Store | None = None,
    jobs: int | None = None,
) -> dict[str, Run]:
    """Run what has no fresh recording and record it, each as soon as it is done.

    `chosen` None: every snippet that needs a GPU, and all that the environment has.
    `force`: what is fresh, too. A run cut short goes on where it stopped. The result
    has what was run; a failed run is in it and is not recorded.
    """
    _check_name(environment)
    if chosen is None:
        chosen = [s for s in snippets.find(root) if _belongs(root, environment, s)]
    stale = [s for s in chosen if force or state(root, environment, s) != "fresh"]
    return runner.run(
        stale,
        root=root,
        store=store,
        jobs=jobs,
        on_event=on_event,
        environment=environment,
        force=True,
        keep=partial(write, root, environment),
    )


def _belongs(root: Path, environment: str, snippet: Snippet) -> bool:
    return "cuda" in snippet.needs or folder(root, environment, snippet.name).exists()


def _check_name(environment: str) -> None:
    if not _NAME.fullmatch(environment) or environment == "here":
        raise RecordingError(
            environment,
            "is not a name for an environment",
            "take lower case letters, digits, '.', '-' and '_', such as h200-torch2.11",
        )


# --------------------------------------------------------------------------- without click and rich


def main(argv: list[str]) -> int:
    """``python -m tclab record …`` where only PyTorch is installed; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tclab", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("record", help="run snippets here and keep the results")
    command.add_argument("environment", help="the name of this machine: h200-torch2.11")
    command.add_argument("names", nargs="*", metavar="SNIPPET", help="TOPIC or TOPIC/NAME")
    command.add_argument("-f", "--force", action="store_true", help="what is fresh, too")
    command.add_argument("-j", "--jobs", type=int, help="how many at a time")
    arguments = parser.parse_args(argv)
    try:
        return _record_plainly(arguments)
    except TclabError as error:
        print(error, file=sys.stderr)
        return 1


def _record_plainly(arguments: argparse.Namespace) -> int:
    root = snippets.project_root()
    chosen = _select(arguments.names, root) if arguments.names else None
    runs = record(
        root,
        arguments.environment,
        chosen,
        force=arguments.force,
        on_event=_tell,
        jobs=arguments.jobs,
    )
    failed = [run for run in runs.values() if not run.ok]
    for run in failed:
        print(f"\n{as_error(run)}", file=sys.stderr)
    print(f"{len(runs) - len(failed)} recorded, {len(failed)} failed")
    return 1 if failed else 0


def _select(names: list[str], root: Path) -> list[Snippet]:
    found = snippets.find(root)
    return [
        snippet
        for name in names
        for snippet in ([s for s in found if s.topic == name] or [snippets.get(name, root)])
    ]


def _tell(event: events.Event) -> None:
    """One line an event that matters."""
    if isinstance(event, events.Finished) and event.run is not None:
        run = event.run
        result = "ok" if run.failure is None else f"FAILED: {run.failure.cause}"
        print(f"{event.snippet}: {result}, {run.seconds:.1f} s", flush=True)
    elif isinstance(event, events.Skipped):
        print(f"{event.snippet}: skipped, needs {', '.join(sorted(event.missing))}", flush=True)
    elif isinstance(event, events.Warm) and event.note:
        print(event.note, flush=True)
