"""The stamp of a run: which PyTorch, which device, which day made it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tclab.render.escape import Html, esc, markup, one_line, tag
from tclab.render.options import commit_url

if TYPE_CHECKING:
    from tclab.model import Provenance, Run, Source, Version


def seconds(value: float) -> str:
    """`0.7 s`, `12 s`."""
    return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"


def device(made: Provenance) -> str:
    """The GPU where there was one, else the CPU."""
    if made.gpu:
        return made.gpu + (f", CUDA {made.cuda}" if made.cuda else "")
    return made.cpu + (f", {made.cores} cores" if made.cores else "")


def origin(run: Run) -> str:
    """Where the run was made."""
    return "run by this build" if run.environment == "here" else f"recorded as {run.environment}"


def _torch(made: Provenance) -> str:
    git = made.torch_git[:7]
    return f"PyTorch {made.torch}" + (f" ({git})" if git else "")


def made_by(made: Provenance) -> list[str]:
    """Which PyTorch, which device, which day, as text."""
    triton = f"Triton {made.triton}" if made.triton else ""
    return [one_line(p) for p in (_torch(made), triton, device(made), made.date) if p]


def _source(source: Source) -> str:
    """`rows recorded on NVIDIA H200, PyTorch 2.11.0+cu130, Triton 3.6.0, 2026-11-21`."""
    made_for = f" for {source.target}" if source.target else ""
    where = f"rows recorded{made_for} on {source.gpu or source.cpu or 'a CPU'}"
    triton = f"Triton {source.triton}" if source.triton else ""
    parts = (where, f"PyTorch {source.torch}", triton, " and ".join(source.dates))
    return one_line(", ".join(filter(None, parts)))


def places(sources: Iterable[Source]) -> str:
    """``PyTorch 2.11.0 and 2.12.0, CPU; PyTorch 2.11.0, NVIDIA H200``: a device at a time."""
    versions: dict[str, set[Version]] = {}
    for source in sources:
        versions.setdefault(device_name(source), set()).add(source.version)
    named = ((device, [v.public for v in sorted(of)]) for device, of in versions.items())
    return "; ".join(f"PyTorch {enumerated(of)}, {device}" for device, of in named)


def device_name(source: Source) -> str:
    """The GPU, or that it was a CPU, and what for."""
    return source.gpu or (f"for {source.target} on a CPU" if source.target else "CPU")


def enumerated(names: Sequence[str]) -> str:
    """``a, b and c``"""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _same(runs: Sequence[Run]) -> Iterator[str]:
    """Where else the same was shown: in recordings, and when; by this build."""
    sources = [source for run in runs if run.environment != "here" for source in run.measured]
    if sources:
        days = sorted({day for source in sources for day in source.dates})
        yield one_line(f"the same on {places(sources)}, recorded {enumerated(days)}")
    for run in runs:
        if run.environment == "here":
            yield one_line(f"the same on {places(run.measured)}, {origin(run)}")


def pieces(run: Run, same: Sequence[Run] = ()) -> list[str]:
    """The stamp's parts as text; `same` are other runs that showed the same."""
    return [*_own(run), *_same(same)]


def _own(run: Run) -> list[str]:
    if run.sources:
        by = "this build" if run.environment == "here" else run.environment
        first, *rest = map(_source, run.sources)
        return [one_line(f"computed by {by} from {first}"), *rest, seconds(run.seconds)]
    return [*made_by(run.provenance), seconds(run.seconds), one_line(origin(run))]


def html(run: Run, same: Sequence[Run] = ()) -> Html:
    """One line; the commit links to PyTorch's repository."""
    first, *rest = map(esc, pieces(run, same))
    url = commit_url(run.provenance.torch_git)
    if url and not run.sources:
        link = tag("a", esc(run.provenance.torch_git[:7]), href=url, rel="noopener")
        version = one_line(f"PyTorch {run.provenance.torch}")
        first = markup("{} ({})", esc(version), link)
    items = [tag("span", piece) for piece in (first, *rest)]
    kind = "here" if run.environment == "here" else "recorded"
    return tag("p", *items, class_=f"tclab-stamp tclab-{kind}", data_search_exclude="")


def text(run: Run, same: Sequence[Run] = ()) -> str:
    """One line."""
    return " · ".join(pieces(run, same))
