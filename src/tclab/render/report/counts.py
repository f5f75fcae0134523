"""How much of everything there was, in words that cannot be misread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tclab.render import parts

if TYPE_CHECKING:
    from tclab.model import Breaks, Report, Table

ALL_GRAPHS = "graphs, with those of recompiles"
_COSTS = {"guards": "guard", "kernels": "kernel", "library calls": "library call"}


def verdict(shown: Report) -> str:
    """Breaks, graphs and recompiles in a sentence or two."""
    return " ".join(_sentences(_numbers(shown.summary), shown.breaks))


def _numbers(counts: Table) -> dict[str, int]:
    return {str(what): int(count or 0) for what, count in counts.rows}


def _sentences(counts: dict[str, int], breaks: Breaks) -> Iterator[str]:
    yield _of_breaks(breaks)
    if skipped := sum(item.skipped for item in breaks):
        run = "runs" if skipped == 1 else "run"
        yield f"{parts.count(skipped, 'function')} {run} without compiling."
    if recompiles := counts.get("recompiles"):
        graphs = parts.count(counts[ALL_GRAPHS], "graph")
        yield f"{parts.count(recompiles, 'recompile')}: {graphs} in all."


def _of_breaks(breaks: Breaks) -> str:
    if not breaks.graphs:
        return "Nothing was compiled."
    count = sum(not item.skipped for item in breaks)
    said = parts.count(count, "graph break") if count else "No graph break"
    graphs = "one graph" if breaks.graphs == 1 else parts.count(breaks.graphs, "graph")
    rest = count and breaks.graphs == 1  # nothing was compiled behind the break, or before it
    return f"{said}: {'what was compiled is' if rest else 'the code is in'} {graphs}."


def costs(shown: Report) -> Iterator[str]:
    """``83 guards``, ``6 kernels``, ``2 library calls``, ``compiled in 7.4 s``."""
    numbers = _numbers(shown.summary)
    for what, noun in _COSTS.items():
        yield parts.count(numbers.get(what, 0), noun)
    if shown.times.rows:
        yield f"compiled in {float(shown.times.rows[-1][-1] or 0):.1f} s"
