"""Write the stamp of a run: its PyTorch, its device, its day."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tclab.render.escape import Html, esc, markup, one_line, tag
from tclab.render.options import commit_url

if TYPE_CHECKING:
    from tclab.model import Provenance, Run, Source, Version


def seconds_text(value: float) -> str:
    """Return seconds as text: `0.7 s`, `12 s`."""
    return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"


def device_text(provenance: Provenance) -> str:
    """Return the GPU with its CUDA version if the run had a GPU, else the CPU with its cores."""
    if provenance.gpu:
        return provenance.gpu + (f", CUDA {provenance.cuda}" if provenance.cuda else "")
    return provenance.cpu + (f", {provenance.cores} cores" if provenance.cores else "")


def origin_text(run: Run) -> str:
    """Return the run's origin in words: this build, or the name of a recording."""
    return "run by this build" if run.environment == "here" else f"recorded as {run.environment}"


def _torch_text(provenance: Provenance) -> str:
    git = provenance.torch_git[:7]
    return f"PyTorch {provenance.torch}" + (f" ({git})" if git else "")


def compiler_text(provenance: Provenance) -> str:
    """Return the C++ compiler's version; '' for a GPU, whose code needs no C++ compiler."""
    return "" if provenance.gpu else provenance.compiler.rpartition(" (")[0]


def provenance_texts(provenance: Provenance) -> list[str]:
    """Return PyTorch, Triton, the C++ compiler, device and day as texts."""
    triton = f"Triton {provenance.triton}" if provenance.triton else ""
    made_with = (_torch_text(provenance), triton, compiler_text(provenance))
    parts = (*made_with, device_text(provenance), provenance.date)
    return [one_line(text_part) for text_part in parts if text_part]


def _source_text(source: Source) -> str:
    """Describe a source: ``rows recorded on NVIDIA H200, PyTorch 2.11.0+cu130, 2026-11-21``."""
    made_for = f" for {source.target}" if source.target else ""
    measured_on = f"rows recorded{made_for} on {source.gpu or source.cpu or 'a CPU'}"
    triton = f"Triton {source.triton}" if source.triton else ""
    parts = (measured_on, f"PyTorch {source.torch}", triton, " and ".join(source.dates))
    return one_line(", ".join(filter(None, parts)))


def places_text(sources: Iterable[Source]) -> str:
    """Return versions by device: ``PyTorch 2.11.0 and 2.12.0, CPU; PyTorch 2.11.0, NVIDIA
    H200``.
    """
    versions: dict[str, set[Version]] = {}
    for source in sources:
        versions.setdefault(device_name(source), set()).add(source.version)
    names_by_device = (
        (device_text, [version.public for version in sorted(versions_of_device)])
        for device_text, versions_of_device in versions.items()
    )
    return "; ".join(
        f"PyTorch {join_names(versions_of_device)}, {device_text}"
        for device_text, versions_of_device in names_by_device
    )


def device_name(source: Source) -> str:
    """Return the name of the GPU, ``CPU``, or ``for TARGET on a CPU``."""
    return source.gpu or (f"for {source.target} on a CPU" if source.target else "CPU")


def join_names(names: Sequence[str]) -> str:
    """Join names as in ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _equal_run_texts(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the place and day of the other runs with the same artifact, recordings before this
    build's run.
    """
    sources = [source for run in runs if run.environment != "here" for source in run.figure_sources]
    if sources:
        days = sorted({day for source in sources for day in source.dates})
        yield one_line(f"the same on {places_text(sources)}, recorded {join_names(days)}")
    for run in runs:
        if run.environment == "here":
            yield one_line(f"the same on {places_text(run.figure_sources)}, {origin_text(run)}")


def pieces(run: Run, equal_runs: Sequence[Run] = ()) -> list[str]:
    """Return the stamp's parts as texts; `equal_runs` are the other runs that showed the same
    artifact.
    """
    return [*_own_texts(run), *_equal_run_texts(equal_runs)]


def _own_texts(run: Run) -> list[str]:
    if run.sources:
        builder = "this build" if run.environment == "here" else run.environment
        first, *rest = map(_source_text, run.sources)
        return [one_line(f"computed by {builder} from {first}"), *rest, seconds_text(run.seconds)]
    return [
        *provenance_texts(run.provenance),
        seconds_text(run.seconds),
        one_line(origin_text(run)),
    ]


def html(run: Run, equal_runs: Sequence[Run] = ()) -> Html:
    """Return the stamp as one line of HTML; the commit links to PyTorch's repository."""
    first, *rest = map(esc, pieces(run, equal_runs))
    url = commit_url(run.provenance.torch_git)
    if url and not run.sources:
        link = tag("a", esc(run.provenance.torch_git[:7]), href=url, rel="noopener")
        version = one_line(f"PyTorch {run.provenance.torch}")
        first = markup("{} ({})", esc(version), link)
    items = [tag("span", piece) for piece in (first, *rest)]
    origin_class = "here" if run.environment == "here" else "recorded"
    return tag("p", *items, class_=f"tclab-stamp tclab-{origin_class}", data_search_exclude="")


def text(run: Run, equal_runs: Sequence[Run] = ()) -> str:
    """Return the stamp as one line of text."""
    return " · ".join(pieces(run, equal_runs))
