"""Recordings: runs of a machine that others lack, committed under ``records/<environment>/``.

A recording is fresh while its snippet, and the local files that imports, are what they
were, and its files are what was written. Only ``tclab record`` writes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tclab.errors import RecordingError, StoreError
from tclab.model import Run, Snippet
from tclab.store import folders, run_files
from tclab.store.run_files import Head
from tclab.store.status import Status, of_source


def environments(root: Path) -> list[str]:
    """The names of all recorded environments: each a folder with a folder for every topic."""
    topics = (path for path in (Path(root) / "records").glob("*/*") if path.is_dir())
    return sorted({topic.parent.name for topic in topics})


def folder(root: Path, environment: str, name: str) -> Path:
    """Where the recording of a snippet lies."""
    return Path(root) / "records" / environment / name


def status(root: Path, environment: str, snippet: Snippet) -> Status:
    """How the recording of a snippet stands; ``never`` where it was not recorded there."""
    where = folder(root, environment, snippet.name)
    if not where.exists():
        return Status(snippet, environment, "never")
    try:
        head = run_files.head(where, snippet.name, RecordingError)
        _check_run(root, environment, snippet, head)
    except RecordingError as problem:
        return Status(snippet, environment, "broken", (problem.cause,), problem)
    if why := of_source(head.run, snippet, {}):
        cause = f"snippets/{snippet.name}.py has changed since it was recorded"
        step = f"record it again on that machine: tclab record {environment} {snippet.name}"
        stale = RecordingError(_place(root, where), cause, step)
        return Status(snippet, environment, "stale", why, stale, head)
    return Status(snippet, environment, "fresh", head=head)


def _check_run(root: Path, environment: str, snippet: Snippet, head: Head) -> None:
    """RecordingError where the folder holds something else than a good run of this snippet."""
    run, place = head.run, _place(root, head.folder)
    inside = Path(root, "records").resolve() / environment / snippet.name
    if head.folder.resolve() != inside:
        raise RecordingError(place, "lies behind a link", "put the folder itself there")
    if (run.snippet, run.environment) != (snippet.name, environment):
        cause = f"holds the run of {run.snippet} on {run.environment}"
        raise RecordingError(place, cause, "move it back")
    known = {"run.json", *head.files}
    if more := [path.name for path in head.folder.iterdir() if path.name not in known]:
        raise RecordingError(f"{place}/{more[0]}", "is no file of this run", "remove it")
    if not run.ok:
        step = f"record it again on that machine: tclab record {environment} {snippet.name}"
        raise RecordingError(place, "holds a run that failed", step)


def _place(root: Path, where: Path) -> str:
    return where.relative_to(root).as_posix()


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
