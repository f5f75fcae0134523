"""Define the status of a snippet's run in one environment: whether the run is fresh, and if not,
why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tclab.errors import RecordingError, StoreError
from tclab.model import Provenance, Run, Snippet
from tclab.site.store import dependencies, keys, run_files
from tclab.site.store.dependencies import Digests
from tclab.site.store.run_files import Head
from tclab.system import installed

#: fresh: the run can be shown. stale: a dependency has changed. never: there is no run. failed: the
#: last run failed, even if an earlier one succeeded. broken: the run's files were changed. lacking:
#: this machine lacks something that the snippet needs.
State = Literal["fresh", "stale", "never", "failed", "broken", "lacking"]


@dataclass(frozen=True)
class Status:
    """The status of a snippet in one environment (``here``, or the name of a recorded one).

    `why` lists the differences (stale), the damage (broken) or the missing needs (lacking).
    """

    snippet: Snippet
    environment: str
    state: State
    why: tuple[str, ...] = ()
    problem: StoreError | None = None  # the error to raise for a recording that cannot be shown
    head: Head | None = None  # the content of run.json, if it can be read

    @property
    def fresh(self) -> bool:
        return self.state == "fresh"

    def run(self) -> Run:
        """Return the whole run, which must exist. Raises StoreError if its files are damaged."""
        assert self.head is not None, f"nothing is kept of {self.snippet.name}"
        error = StoreError if self.environment == "here" else RecordingError
        return run_files.read_rest(self.head, error)


def differences(run: Run, snippet: Snippet, here: Provenance, package: Digests) -> tuple[str, ...]:
    """Return the changes since `run` was made, in words; empty if the run is fresh.

    `package` is `dependencies.package_digests()`. The date of the provenance does not count.
    """
    return (
        *source_differences(run, snippet, package),
        *([] if run.rests_on else ["it was kept without the files that it rests on"]),
        *package_differences(run),
        *provenance_differences(run.provenance, here),
    )


def package_differences(run: Run) -> Iterator[str]:
    """Yield the changes of the installed packages that the run's processes imported, in words."""
    for name, stored in run.packages.items():
        if (now := installed.version(name)) != stored:
            yield f"{name} {stored} → {now or 'none'}"


def still_fails(failed_run: Run, snippet: Snippet, here: Provenance, package: Digests) -> bool:
    """Return whether everything that a failed run depends on is unchanged. If the run's process
    died, its imports are unknown; then only the snippet, its includes and the provenance count.
    """
    changed = (
        *source_differences(failed_run, snippet, package),
        *package_differences(failed_run),
        *provenance_differences(failed_run.provenance, here),
    )
    return not changed


def source_differences(run: Run, snippet: Snippet, package: Digests) -> tuple[str, ...]:
    """Return the changes of the snippet and of the run's dependencies, in words."""
    changed = dependencies.changed_files(run, snippet, package)
    own = (
        () if any(map(dependencies.is_project_file, changed)) else _snippet_difference(run, snippet)
    )
    edited = [name for name in changed if not _changed_during(run, name)]
    newer = [name for name in changed if _changed_during(run, name)]
    return (*own, *_file_differences(edited), *_file_differences(newer, _CHANGED_DURING))


def _snippet_difference(run: Run, snippet: Snippet) -> Iterator[str]:
    """Yield the change of the snippet, in words. Its key covers the files that it includes, too."""
    if run.source_key != keys.source_key(snippet):
        files = "" if run.rests_on else ", ".join(path.name for path in snippet.includes)
        yield f"the snippet changed{f' (or {files})' if files else ''}"


_CHANGED_DURING = (
    "was written after the run began: edited meanwhile, or this machine's clock was set back"
)


def _changed_during(run: Run, name: str) -> bool:
    """Return whether a dependency has no digest because its file changed during the run.

    A recorded file without a digest was missing instead.
    """
    return not run.rests_on[name] and not name.startswith("records/")


def _file_differences(names: Sequence[str], change: str = "changed") -> Iterator[str]:
    if names:
        more = len(names) - 1
        yield f"{names[0]}{f' and {more} more' if more else ''} {change}"


_NAMES = {"triton": "Triton", "python": "Python", "cuda": "CUDA", "gpu": "GPU", "cpu": "CPU"}
_NAMES |= {"compiler": "C++ compiler"}


def provenance_differences(stored: Provenance, current: Provenance) -> Iterator[str]:
    for field in keys.PROVENANCE:
        before, after = getattr(stored, field), getattr(current, field)
        if before == after or (field == "torch_git" and stored.torch != current.torch):
            continue
        if field == "torch_git":
            yield f"torch's commit {before[:7] or 'none'} → {after[:7] or 'none'}"
        elif field == "variables":
            yield from _variable_differences(stored.variables, current.variables)
        else:
            yield f"{_NAMES.get(field, field)} {before or 'none'} → {after or 'none'}"


def _variable_differences(stored: Mapping[str, str], current: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(stored.keys() | current.keys()):
        if name not in current:
            yield f"variable {name} no longer set"
        elif name not in stored:
            yield f"variable {name} set to {current[name] or 'nothing'}"
        elif stored[name] != current[name]:
            yield f"variable {name} {stored[name] or 'empty'} → {current[name] or 'empty'}"
