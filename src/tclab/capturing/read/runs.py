"""Read the call that compiled each graph, and how often each graph ran in the first call."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace


def runs_in_first_call(trace: Trace) -> dict[str, int] | None:
    """Map each compile to the runs of its graph in the first call; None if they were not counted.

    If a forward and its backward ran different numbers of times, the larger number counts.
    """
    if not trace.select(names.CALLED):
        return None
    counts = Counter((event.compile_id, event.payload) for event in _first_runs(trace))
    runs: dict[str, int] = {}
    for (compile_id, _), count in counts.items():
        runs[compile_id] = max(count, runs.get(compile_id, 0))
    return runs


def compiles_with_several_sizes(trace: Trace) -> frozenset[str]:
    """Return the compiles whose graph ran with inputs of several sizes in the first call."""
    sizes: dict[tuple[str, str], set[object]] = defaultdict(set)
    for event in _first_runs(trace):
        sizes[event.compile_id, event.payload].add(event.data)
    return frozenset(compile_id for (compile_id, _), each in sizes.items() if len(each) > 1)


def _first_runs(trace: Trace) -> Iterator[Event[Any]]:
    """Return the runs of graphs in the first call."""
    events = trace.select(names.RUN, names.CALLED)
    return takewhile(lambda event: event.name == names.RUN, events)


def calls_by_compile(trace: Trace) -> dict[str, int]:
    """Map each compile id to the number, from 1, of the call that compiled it."""
    calls: dict[str, int] = {}
    number = 1
    for event in trace.events:
        if event.name == names.CALLED:
            number += 1
        elif event.compile_id:
            calls.setdefault(event.compile_id, number)
    return calls
