"""How much of everything there was: as tables, and in words that cannot be misread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tclab.model import Counts, Table
from tclab.render import parts

if TYPE_CHECKING:
    from tclab.model import Breaks, Report


def table(counts: Counts) -> Table:
    """The counts one under the other."""
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


def verdict(report: Report) -> str:
    """Breaks, graphs and recompiles in a sentence or two."""
    return " ".join(_sentences(report.counts, report.breaks))


def _sentences(counts: Counts, breaks: Breaks) -> Iterator[str]:
    yield _of_breaks(breaks)
    if skipped := sum(item.skipped for item in breaks):
        run = "runs" if skipped == 1 else "run"
        yield f"{parts.count(skipped, 'function')} {run} without compiling."
    if counts.recompiles:
        graphs = parts.count(counts.all_graphs, "graph")
        yield f"{parts.count(counts.recompiles, 'recompile')}: {graphs} in all."


def _of_breaks(breaks: Breaks) -> str:
    if not breaks.graphs:
        return "Nothing was compiled."
    count = sum(not item.skipped for item in breaks)
    number = parts.count(count, "graph break") if count else "No graph break"
    graphs = "one graph" if breaks.graphs == 1 else parts.count(breaks.graphs, "graph")
    rest = count and breaks.graphs == 1  # nothing was compiled behind the break, or before it
    return f"{number}: {'what was compiled is' if rest else 'the code is in'} {graphs}."


def costs(report: Report) -> Iterator[str]:
    """``83 guards``, ``6 kernels``, ``2 library calls``, ``compiled in 7.4 s``."""
    counts = report.counts
    yield parts.count(counts.guards, "guard")
    yield parts.count(counts.kernels, "kernel")
    yield parts.count(counts.library_calls, "library call")
    yield f"compiled in {report.compile_time.seconds:.1f} s"
