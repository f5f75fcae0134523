"""Whether what is kept of a snippet in one environment still holds, and if not, what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tclab.errors import RecordingError, StoreError
from tclab.model import Provenance, Run, Snippet
from tclab.store import keys, rests, run_files
from tclab.store.rests import Digests
from tclab.store.run_files import Head

#: fresh: it holds. stale: what it depends on has changed since. never: there is none. failed:
#: the last run failed. broken: its files are not what was written. lacking: this machine has
#: not what the snippet needs.
State = Literal["fresh", "stale", "never", "failed", "broken", "lacking"]


@dataclass(frozen=True)
class Status:
    """How a snippet stands in one environment (``here``, or the name of its recordings).

    `why` says what differs (stale), what is damaged (broken), what is missing (lacking).
    """

    snippet: Snippet
    environment: str
    state: State
    why: tuple[str, ...] = ()
    problem: StoreError | None = None  # of a recording that is not shown: the error to raise
    head: Head | None = None  # where a run is kept that can be read

    @property
    def fresh(self) -> bool:
        return self.state == "fresh"

    def run(self) -> Run:
        """The whole run that is kept. StoreError where it is damaged; there must be one."""
        assert self.head is not None, f"nothing is kept of {self.snippet.name}"
        error = StoreError if self.environment == "here" else RecordingError
        return run_files.whole(self.head, error)


def differences(run: Run, snippet: Snippet, here: Provenance, package: Digests) -> tuple[str, ...]:
    """What `run` depends on and is different now, in words; empty: it holds.

    `package` is `rests.package()`. Of the provenance everything counts but the day.
    """
    return (
        *of_source(run, snippet, package),
        *([] if run.rests_on else ["it was kept without the files that it rests on"]),
        *of_provenance(run.provenance, here),
    )


def of_source(run: Run, snippet: Snippet, package: Digests) -> tuple[str, ...]:
    """As `differences`, of the snippet and the files it rests on alone."""
    changed = rests.changed(run, snippet, package)
    own = () if any(map(rests.is_local, changed)) else _of_snippet(run, snippet)
    return (*own, *_of_files(changed))


def _of_snippet(run: Run, snippet: Snippet) -> Iterator[str]:
    """The snippet's key is over the files it includes, too; a run of format 3 names those."""
    if run.source_key != keys.source_key(snippet):
        files = "" if run.rests_on else ", ".join(path.name for path in snippet.includes)
        yield f"the snippet changed{f' (or {files})' if files else ''}"


def _of_files(names: Sequence[str]) -> Iterator[str]:
    if names:
        more = len(names) - 1
        yield f"{names[0]}{f' and {more} more' if more else ''} changed"


_NAMES = {"triton": "Triton", "python": "Python", "cuda": "CUDA", "gpu": "GPU", "cpu": "CPU"}


def of_provenance(then: Provenance, now: Provenance) -> Iterator[str]:
    for field in keys.PROVENANCE:
        before, after = getattr(then, field), getattr(now, field)
        if before == after or (field == "torch_git" and then.torch != now.torch):
            continue
        if field == "torch_git":
            yield f"torch's commit {before[:7] or 'none'} → {after[:7] or 'none'}"
        elif field == "variables":
            yield from _of_variables(then.variables, now.variables)
        else:
            yield f"{_NAMES.get(field, field)} {before or 'none'} → {after or 'none'}"


def _of_variables(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(then.keys() | now.keys()):
        if name not in now:
            yield f"variable {name} no longer set"
        elif name not in then:
            yield f"variable {name} set to {now[name] or 'nothing'}"
        elif then[name] != now[name]:
            yield f"variable {name} {then[name] or 'empty'} → {now[name] or 'empty'}"
