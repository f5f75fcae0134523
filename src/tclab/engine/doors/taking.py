"""Take the runs of a bundle into ``records/``: all of them, or none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from tclab.engine.doors import bundle, offers, protocol, tars
from tclab.engine.doors.bundle import Bundle, BundleError
from tclab.engine.plan import Plan
from tclab.engine.record import check_name
from tclab.engine.work import Keep
from tclab.errors import StoreError, TclabError
from tclab.model import Provenance, Run, Snippet
from tclab.store import recordings, run_files
from tclab.store.status import of_source

_STEP = "name those that are to be taken: tclab record --import FILE SNIPPET…"


def take(
    path: Path, plan: Plan, snippets: Iterable[Snippet], wanted: Iterable[str] = ()
) -> tuple[dict[str, Run], dict[str, str]]:
    """Record the runs of a bundle, or those of the `wanted` snippets. What failed there is not
    recorded; it is in the result. The second half: what did not run there, and why. BundleError,
    with nothing written, where anything of it is not what it should be.
    """
    read = bundle.read(path, bundle.RUNS)
    environment = read.head["environment"]
    check_name(environment)
    known = {snippet.name: snippet for snippet in snippets}
    names = set(wanted)
    runs = {
        name: _run(path, read, name, files)
        for name, files in bundle.by_run(read).items()
        if not names or name in names
    }
    if lacking := sorted(names - runs.keys()):
        raise BundleError(str(path), f"has no run of {lacking[0]}", "tclab record --import FILE")
    for name, run in runs.items():
        _check_source(path, known.get(name), run)
    _check_versions(path, plan, read, runs)
    for run in runs.values():
        recordings.write(plan.root, environment, run)
    return runs, read.head["refused"]


def _run(path: Path, read: Bundle, name: str, files: Mapping[str, bytes]) -> Run:
    """One run, with every digest checked, and no file beside those."""
    try:
        run = protocol.unpacked(tars.of_files(files), name, read.head["environment"])
    except StoreError as problem:
        raise BundleError(str(path), f"{problem.place}: {problem.cause}", "bring it anew") from None
    return run


def _check_source(path: Path, snippet: Snippet | None, run: Run) -> None:
    """It is a run of what this project has."""
    if snippet is None:
        cause = f"is of another project: there is no snippets/{run.snippet}.py"
        raise BundleError(str(path), cause, _STEP)
    if why := of_source(run, snippet, {}):
        cause = f"has a run of another {run.snippet} than this one: {', '.join(why)}"
        raise BundleError(str(path), cause, f"write the jobs anew, or {_STEP}")


def _check_versions(path: Path, plan: Plan, read: Bundle, runs: Mapping[str, Run]) -> None:
    """All are of the PyTorch that was wanted, and of one machine: that of the recordings there."""
    environment, torch = read.head["environment"], read.head["torch"]
    there = recorded(plan.root, environment, set(runs))
    first = there or next((run.provenance for run in runs.values()), None)
    for run in runs.values():
        made = run.provenance
        if torch and not offers.begins(made.torch, torch):
            cause = f"{run.snippet} is of PyTorch {made.torch}, and {torch} was wanted"
            raise BundleError(str(path), cause, "run the jobs under that PyTorch")
        if cause := _other(environment, run, first):
            raise BundleError(str(path), cause, _ONE)


_ONE = "an environment is one PyTorch on one kind of machine: name another one"


def _other(environment: str, run: Run, first: Provenance | None) -> str:
    """Why a run is not of the machine that made the others; '' where it is."""
    made = run.provenance
    if first is None or (made.torch, made.gpu) == (first.torch, first.gpu):
        return ""
    return f"{run.snippet} is of {_words(made)}; {environment} is of {_words(first)}"


def _words(made: Provenance) -> str:
    return f"PyTorch {made.torch} on {made.gpu or made.cpu}"


def keep(root: Path, environment: str, snippets: Iterable[Snippet]) -> Keep:
    """Records the runs of these snippets that come from elsewhere. StoreError for one of another
    PyTorch or GPU than the recordings that stay, or than the first one that came.
    """
    first = recorded(root, environment, {snippet.name for snippet in snippets})

    def write(run: Run) -> None:
        nonlocal first
        if cause := _other(environment, run, first):
            raise StoreError(f"records/{environment}", cause, _ONE)
        first = first or run.provenance
        recordings.write(root, environment, run)

    return write


def wanted(root: Path, environment: str, torch: str, gpu: str) -> tuple[str, str]:
    """The PyTorch and the GPU that runs of an environment have to be of: those that are said, else
    those of its recordings. TclabError where there is neither.
    """
    if torch:
        return torch, gpu
    there = recorded(root, environment, ())
    if there is None:
        cause = "has no recording yet, and its name says nothing to a worker"
        raise TclabError(f"records/{environment}", cause, "say --torch X.Y, and --gpu NAME for one")
    return there.torch, gpu or there.gpu


def recorded(root: Path, environment: str, leaving_out: Collection[str]) -> Provenance | None:
    """What made the recordings that stay."""
    folder = root / "records" / environment
    for name in run_files.names(folder):
        if name not in leaving_out:
            try:
                return run_files.head(folder / name, name).run.provenance
            except StoreError:
                continue
    return None
