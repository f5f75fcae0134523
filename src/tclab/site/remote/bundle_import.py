"""Import the runs of a bundle into ``records/``: all of them, or none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from tclab.errors import StoreError, TclabError
from tclab.model import Provenance, Run, Snippet
from tclab.site.engine.plan import Plan
from tclab.site.engine.record import check_environment_name
from tclab.site.engine.work import SaveRun
from tclab.site.remote import announcements, bundle, protocol, tars
from tclab.site.remote.bundle import Bundle, BundleError
from tclab.site.store import run_files
from tclab.site.store.status import source_differences

_NAME_SNIPPETS = "name those that are to be taken: tclab record --import FILE SNIPPET…"


def import_runs(
    path: Path, plan: Plan, snippets: Iterable[Snippet], wanted_names: Iterable[str] = ()
) -> tuple[dict[str, Run], dict[str, str]]:
    """Record the runs of a bundle, or only the runs of the snippets in `wanted_names`.

    Return the runs by snippet, and the reason for each snippet that did not run. A run that failed
    is returned and revokes the recording that is there. Raises BundleError, with nothing written,
    if any part is wrong.
    """
    read = bundle.read(path, bundle.RUNS)
    environment = read.head["environment"]
    check_environment_name(environment)
    known = {snippet.name: snippet for snippet in snippets}
    names = set(wanted_names)
    runs = {
        name: _unpack_run(path, read, name, files)
        for name, files in bundle.files_by_run(read).items()
        if not names or name in names
    }
    if lacking := sorted(names - runs.keys()):
        raise BundleError(str(path), f"has no run of {lacking[0]}", "tclab record --import FILE")
    for name, run in runs.items():
        _check_source(path, known.get(name), run)
    _check_versions(path, plan, read, runs)
    for run in runs.values():
        plan.save_recording(environment, run)
    return runs, read.head["refused"]


def _unpack_run(path: Path, bundle: Bundle, name: str, files: Mapping[str, bytes]) -> Run:
    """Unpack one run and check its files. Raises BundleError if a file is wrong or missing, or if
    there is one too many.
    """
    try:
        run = protocol.unpack_run(tars.pack_files(files), name, bundle.head["environment"])
    except StoreError as problem:
        raise BundleError(str(path), f"{problem.place}: {problem.cause}", "bring it anew") from None
    return run


def _check_source(path: Path, snippet: Snippet | None, run: Run) -> None:
    """Raise BundleError unless the run belongs to a snippet of this project with the same
    source.
    """
    if snippet is None:
        cause = f"is of another project: there is no snippets/{run.snippet}.py"
        raise BundleError(str(path), cause, _NAME_SNIPPETS)
    if why := source_differences(run, snippet, {}):
        cause = f"has a run of another {run.snippet} than this one: {', '.join(why)}"
        raise BundleError(str(path), cause, f"write the jobs anew, or {_NAME_SNIPPETS}")


def _check_versions(path: Path, plan: Plan, bundle: Bundle, runs: Mapping[str, Run]) -> None:
    """Raise BundleError if a run has another PyTorch than required, or if its PyTorch or GPU
    differs from that of the environment's other runs.
    """
    environment, torch = bundle.head["environment"], bundle.head["torch"]
    recorded = recorded_provenance(plan.root, environment, set(runs))
    first = recorded or next((run.provenance for run in runs.values()), None)
    for run in runs.values():
        provenance = run.provenance
        if torch and not announcements.version_matches(provenance.torch, torch):
            cause = f"{run.snippet} is of PyTorch {provenance.torch}, and {torch} was wanted"
            raise BundleError(str(path), cause, "run the jobs under that PyTorch")
        if cause := _explain_mismatch(environment, run, first):
            raise BundleError(str(path), cause, _ONE_MACHINE)


_ONE_MACHINE = "an environment is one PyTorch on one kind of machine: name another one"


def _explain_mismatch(environment: str, run: Run, first: Provenance | None) -> str:
    """Return how a run's PyTorch or device differs from the first run's; '' if they are equal."""
    provenance = run.provenance
    if first is None or (provenance.torch, provenance.gpu) == (first.torch, first.gpu):
        return ""
    return f"{run.snippet} is of {_describe(provenance)}; {environment} is of {_describe(first)}"


def _describe(provenance: Provenance) -> str:
    return f"PyTorch {provenance.torch} on {provenance.gpu or provenance.cpu}"


def recorder(plan: Plan, environment: str, snippets: Iterable[Snippet]) -> SaveRun:
    """Return a function that records a run of these snippets from another machine.

    The function raises StoreError for a run of another PyTorch or GPU than the kept recordings, or,
    without recordings, than the first run that it got.
    """
    first = recorded_provenance(plan.root, environment, {snippet.name for snippet in snippets})

    def record_run(run: Run) -> None:
        nonlocal first
        if cause := _explain_mismatch(environment, run, first):
            raise StoreError(f"records/{environment}", cause, _ONE_MACHINE)
        first = first or run.provenance
        plan.save_recording(environment, run)

    return record_run


def required_versions(root: Path, environment: str, torch: str, gpu: str) -> tuple[str, str]:
    """Return the PyTorch and the GPU that an environment requires: the given values, or else the
    recorded ones.

    Raises TclabError if no PyTorch was given and the environment has no recording.
    """
    if torch:
        return torch, gpu
    recorded = recorded_provenance(root, environment, ())
    if recorded is None:
        cause = "has no recording yet, and its name says nothing to a worker"
        raise TclabError(f"records/{environment}", cause, "say --torch X.Y, and --gpu NAME for one")
    return recorded.torch, gpu or recorded.gpu


def recorded_provenance(
    root: Path, environment: str, excluded: Collection[str]
) -> Provenance | None:
    """Return the provenance of an environment's first readable recording that is not `excluded`."""
    folder = root / "records" / environment
    for name in run_files.snippet_names(folder):
        if name not in excluded:
            try:
                return run_files.read_head(folder / name, name).run.provenance
            except StoreError:
                continue
    return None
