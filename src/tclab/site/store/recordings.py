"""Read and write recordings: runs from machines that other people do not have, committed under
``records/<environment>/``.

A recording is fresh while its snippet, the local files that the snippet imports, and the
recording's own files are unchanged. Only ``tclab record`` writes recordings.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tclab.errors import RecordingError, StoreError
from tclab.model import Run, Snippet
from tclab.site.store import folders, keys, run_files
from tclab.site.store.run_files import Head
from tclab.site.store.status import Status, source_differences


def environments(root: Path) -> list[str]:
    """Return the sorted names of all recorded environments, which are the folders that contain a
    folder for a topic.
    """
    topics = (path for path in (Path(root) / "records").glob("*/*") if path.is_dir())
    return sorted({topic.parent.name for topic in topics})


def folder(root: Path, environment: str, name: str) -> Path:
    """Return the folder of a snippet's recording."""
    return Path(root) / "records" / environment / name


def read_head(root: Path, environment: str, name: str) -> Head | None:
    """Read the ``run.json`` of a snippet's recording; None if there is no readable one."""
    try:
        return run_files.read_head(folder(root, environment, name), name, RecordingError)
    except RecordingError:
        return None


def digest(head: Head) -> str:
    """Return the digest of a recording's ``run.json``, which distinguishes recordings."""
    return keys.file_digest(head.folder / "run.json")


def status(root: Path, environment: str, snippet: Snippet) -> Status:
    """Return the status of a snippet's recording; ``never`` if the snippet was not recorded in the
    environment.
    """
    where = folder(root, environment, snippet.name)
    if not where.exists():
        return Status(snippet, environment, "never")
    try:
        head = run_files.read_head(where, snippet.name, RecordingError)
        _check_run(root, environment, snippet, head)
    except RecordingError as problem:
        return Status(snippet, environment, "broken", (problem.cause,), problem)
    if why := source_differences(head.run, snippet, {}):
        cause = f"snippets/{snippet.name}.py has changed since it was recorded"
        step = f"record it again on that machine: tclab record {environment} {snippet.name}"
        stale = RecordingError(_place(root, where), cause, step)
        return Status(snippet, environment, "stale", why, stale, head)
    return Status(snippet, environment, "fresh", head=head)


def _check_run(root: Path, environment: str, snippet: Snippet, head: Head) -> None:
    """Raise RecordingError unless the folder contains a successful run of this snippet and nothing
    else.
    """
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


def find_orphans(root: Path, all_snippets: Iterable[Snippet]) -> list[RecordingError]:
    """Find recordings whose snippet no longer exists."""
    names = {snippet.name for snippet in all_snippets}
    return [
        RecordingError(
            f"records/{environment}/{name}",
            f"there is no snippets/{name}.py",
            "remove the recording, or restore the snippet",
        )
        for environment in environments(root)
        for name in run_files.snippet_names(Path(root) / "records" / environment)
        if name not in names
    ]


# --------------------------------------------------------------------------- writing


def write(root: Path, environment: str, run: Run) -> None:
    """Save a successful run as a recording. A failed run is ignored, and the earlier recording
    stays.
    """
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
