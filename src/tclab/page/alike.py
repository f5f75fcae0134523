"""The runs of a snippet that a page shows, in order; what they show: once where it is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tclab.model import Artifact, Run


@dataclass(frozen=True)
class Shown:
    """Artifacts that these runs show alike; the first run is the one that a page prefers."""

    runs: tuple[Run, ...]
    artifacts: tuple[Artifact, ...]


def in_order(live: Run | None, recorded: Sequence[Run]) -> tuple[Run, ...]:
    """The live run first, then each recording that was made on anything else. A page's numbers are
    those of the first.

    A live run on a GPU that no recording is of comes last: a page names the GPU that it was
    written about, and its numbers are to be of that one.
    """
    if live is None:
        return tuple(recorded)
    others = tuple(run for run in recorded if _made_on(run) != _made_on(live))
    gpus = {run.provenance.gpu for run in recorded if run.provenance.gpu}
    if live.provenance.gpu and gpus and live.provenance.gpu not in gpus:
        return (*others, live)
    return (live, *others)


def _made_on(run: Run) -> tuple[str, str]:
    return run.provenance.gpu, run.provenance.torch


#: Positions of runs, those together that show the same.
_Split = tuple[tuple[int, ...], ...]


def stretches(
    runs: Sequence[Run], of: Callable[[Run], Iterable[Artifact]]
) -> Iterator[tuple[Shown, ...]]:
    """The artifacts `of` the runs, in their order; those next to each other that split the runs in
    the same way stay together: a `Shown` for each part, CPUs by version first, then GPUs.
    """
    named = [{artifact.name: artifact for artifact in of(run)} for run in runs]
    names = dict.fromkeys(name for artifacts in named for name in artifacts)
    for split, group in groupby(names, key=lambda name: _split(name, named)):
        chosen = tuple(group)
        shown = (
            Shown(tuple(runs[n] for n in part), tuple(named[part[0]][name] for name in chosen))
            for part in split
        )
        yield tuple(sorted(shown, key=_place))


def _split(name: str, named: Sequence[Mapping[str, Artifact]]) -> _Split:
    """The runs that have this artifact, those together that show the same."""
    parts: list[list[int]] = []
    for number, artifacts in enumerate(named):
        if name in artifacts:
            alike = (part for part in parts if named[part[0]][name] == artifacts[name])
            if part := next(alike, None):
                part.append(number)
            else:
                parts.append([number])
    return tuple(map(tuple, parts))


def _place(shown: Shown) -> tuple[object, ...]:
    return min((bool(s.gpu), s.version, s.gpu) for run in shown.runs for s in run.measured)
