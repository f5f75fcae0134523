"""How much of everything there was, as counts and in words that cannot be misread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tclab.model import Breaks, Table

if TYPE_CHECKING:
    from tclab.capturing import Capture

ALL_GRAPHS = "graphs, with those of recompiles"
_COSTS = {"guards": "guard", "kernels": "kernel", "library calls": "library call"}


def table(capture: Capture, calls: int) -> Table:
    """The counts. Guards, kernels and library calls are those of all graphs."""
    generated = [k for k in capture.kernels if k.category != "extern"]
    skipped = sum(item.skipped for item in capture.breaks)
    rows = (
        ("calls", calls),
        ("graph breaks", len(capture.breaks) - skipped),
        ("functions that run without compiling", skipped),
        ("graphs", capture.breaks.graphs),
        ("recompiles", len(capture.recompiles)),
        (ALL_GRAPHS, len(capture.graphs)),
        ("guards", sum(len(of) for of in capture.guards)),
        ("kernels", len(generated)),
        ("library calls", len(capture.kernels) - len(generated)),
    )
    return Table("Summary", "summary", ("what", "count"), rows)


def plural(count: int, noun: str) -> str:
    """``1 graph break``, ``2 graph breaks``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def verdict(counts: Table, breaks: Breaks) -> str:
    """Breaks, graphs and recompiles in a sentence or two; `counts` is what `table` made."""
    return " ".join(_sentences(_numbers(counts), breaks))


def _numbers(counts: Table) -> dict[str, int]:
    return {str(what): int(count or 0) for what, count in counts.rows}


def _sentences(counts: dict[str, int], breaks: Breaks) -> Iterator[str]:
    yield _of_breaks(breaks)
    if skipped := sum(item.skipped for item in breaks):
        run = "runs" if skipped == 1 else "run"
        yield f"{plural(skipped, 'function')} {run} without compiling."
    if recompiles := counts["recompiles"]:
        yield f"{plural(recompiles, 'recompile')}: {plural(counts[ALL_GRAPHS], 'graph')} in all."


def _of_breaks(breaks: Breaks) -> str:
    if not breaks.graphs:
        return "Nothing was compiled."
    count = sum(not item.skipped for item in breaks)
    said = plural(count, "graph break") if count else "No graph break"
    graphs = "one graph" if breaks.graphs == 1 else plural(breaks.graphs, "graph")
    return f"{said}: the code is in {graphs}."


def costs(counts: Table, times: Table) -> list[str]:
    """``83 guards``, ``6 kernels``, ``2 library calls``, ``compiled in 7.4 s``."""
    numbers = _numbers(counts)
    seconds = float(times.rows[-1][-1] or 0)
    found = [plural(numbers[what], noun) for what, noun in _COSTS.items()]
    return [*found, f"compiled in {seconds:.1f} s"]
