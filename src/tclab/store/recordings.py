"""Recordings: runs of a machine that others lack, committed under ``records/<environment>/``.

A recording is fresh while its snippet, and the local files that imports, are what they
were, and its files are what was written. Only ``tclab record`` writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from tclab.errors import RecordingError, StoreError
from tclab.model import Run, Snippet
from tclab.store import folders, keys, run_files


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
