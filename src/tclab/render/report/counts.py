"""Render the counts of a report as a table and in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tclab.model import Counts, Table
from tclab.render import parts

if TYPE_CHECKING:
    from tclab.model import Breaks, OwnCompiles, Report


def table(counts: Counts) -> Table:
    """Return a table with a row for each count."""
    rows = (
        ("calls", counts.calls),
        ("graph breaks", counts.breaks),
        ("functions that run without compiling", counts.skipped),
        ("graphs", counts.graphs),
        ("recompiles", counts.recompiles),
        ("graphs, with those of recompiles", counts.all_graphs),
        ("guards", counts.guards),
        ("kernels", counts.kernels),
        ("library calls", counts.library_calls),
    )
    return Table("Summary", "summary", ("what", "count"), rows)


def summary(report: Report) -> str:
    """Return the numbers of breaks, graphs and recompiles in a few sentences, after the outcome of
    the file's own compiles.
    """
    own = [_own_sentence(report.own)] if report.own else []
    if report.own and not report.own.frames:
        return own[0]
    return " ".join([*own, *_make_sentences(report.counts, report.breaks)])


def _own_sentence(own: OwnCompiles) -> str:
    if own.cause:
        objects = parts.count(own.objects, "object")
        return f"0 frames were compiled of the {objects} that your file compiles: {own.cause}."
    limits = f", the limit at {', '.join(f'`{name}`' for name in own.limits)}" * bool(own.limits)
    objects, frames = parts.count(own.objects, "object"), parts.count(own.frames, "frame")
    return f"Your file compiles {objects}: {frames}, {own.ok} ok{limits}."


def _make_sentences(counts: Counts, breaks: Breaks) -> Iterator[str]:
    yield _breaks_sentence(breaks)
    if skipped := sum(item.skipped for item in breaks):
        verb = "runs" if skipped == 1 else "run"
        yield f"{parts.count(skipped, 'function')} {verb} without compiling."
    if counts.recompiles:
        graphs = parts.count(counts.all_graphs, "graph")
        yield f"{parts.count(counts.recompiles, 'recompile')}: {graphs} in all."


def _breaks_sentence(breaks: Breaks) -> str:
    if not breaks.graphs:
        return "Nothing was compiled."
    count = sum(not item.skipped for item in breaks)
    number = parts.count(count, "graph break") if count else "No graph break"
    graphs = "one graph" if breaks.graphs == 1 else parts.count(breaks.graphs, "graph")
    # Dynamo compiled only one side of the break, or skipped a function
    is_partial = (count and breaks.graphs == 1) or len(breaks) > count
    return f"{number}: {'what was compiled is' if is_partial else 'the code is in'} {graphs}."


def costs(report: Report) -> Iterator[str]:
    """Yield each count as text: ``83 guards``, ``6 kernels``, ``2 library calls``, ``compiled in
    7.4 s``.
    """
    counts = report.counts
    yield parts.count(counts.guards, "guard")
    yield parts.count(counts.kernels, "kernel")
    yield parts.count(counts.library_calls, "library call")
    yield f"compiled in {report.compile_time.seconds:.1f} s"
