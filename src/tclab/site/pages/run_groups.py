"""Order the runs of a snippet for a page, and group the runs that show the same artifacts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tclab.model import Artifact, Run


@dataclass(frozen=True)
class RunGroup:
    """A group of runs, and the artifacts that are equal in all of them. The page prefers the first
    run.
    """

    runs: tuple[Run, ...]
    artifacts: tuple[Artifact, ...]


def order_runs(live: Run | None, recordings: Sequence[Run]) -> tuple[Run, ...]:
    """Put the live run first, then the recordings from another GPU or PyTorch.

    A page takes its numbers from the first run. So a live run on a GPU without recordings comes
    last, because the page's text names the GPU of the recordings.
    """
    if live is None:
        return tuple(recordings)
    others = tuple(run for run in recordings if _gpu_and_torch(run) != _gpu_and_torch(live))
    gpus = {run.provenance.gpu for run in recordings if run.provenance.gpu}
    if live.provenance.gpu and gpus and live.provenance.gpu not in gpus:
        return (*others, live)
    return (live, *others)


def _gpu_and_torch(run: Run) -> tuple[str, str]:
    return run.provenance.gpu, run.provenance.torch


#: Positions of runs, grouped by equal artifacts.
_Positions = tuple[tuple[int, ...], ...]


def group_artifacts(
    runs: Sequence[Run], artifacts_of: Callable[[Run], Iterable[Artifact]]
) -> Iterator[tuple[RunGroup, ...]]:
    """Group the runs by equal artifacts. Neighbouring artifacts that divide the runs into the same
    groups stay together: for each such sequence of artifacts, yield its groups of runs. The groups
    are sorted: CPUs by version first, then GPUs.
    """
    by_name = [{artifact.name: artifact for artifact in artifacts_of(run)} for run in runs]
    names = dict.fromkeys(name for artifacts in by_name for name in artifacts)
    for positions, equally_split in groupby(
        names, key=lambda name: _group_positions(name, by_name)
    ):
        chosen = tuple(equally_split)
        groups = (
            RunGroup(tuple(runs[n] for n in part), tuple(by_name[part[0]][name] for name in chosen))
            for part in positions
        )
        yield tuple(sorted(groups, key=_sort_key))


def _group_positions(name: str, by_name: Sequence[Mapping[str, Artifact]]) -> _Positions:
    """Return the positions of the runs that have this artifact, grouped by equal content."""
    parts: list[list[int]] = []
    for number, artifacts in enumerate(by_name):
        if name in artifacts:
            equal = (part for part in parts if by_name[part[0]][name] == artifacts[name])
            if part := next(equal, None):
                part.append(number)
            else:
                parts.append([number])
    return tuple(map(tuple, parts))


def _sort_key(group: RunGroup) -> tuple[object, ...]:
    return min((bool(s.gpu), s.version, s.gpu) for run in group.runs for s in run.figure_sources)
