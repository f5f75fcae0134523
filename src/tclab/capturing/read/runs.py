"""Read the call that compiled each graph, and how often each graph ran in the first call."""

from __future__ import annotations

from collections import Counter

from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace


def runs_in_first_call(trace: Trace) -> dict[str, int] | None:
    """Map each compile to the runs of its graph in the first call; None if they were not counted.

    If a forward and its backward ran different numbers of times, the larger number counts.
    """
    if not trace.select(names.CALLED):
        return None
    counts: Counter[tuple[str, str]] = Counter()
    for event in trace.select(names.RUN, names.CALLED):
        if event.name == names.CALLED:
            break
        counts[event.compile_id, event.payload] += 1
    runs: dict[str, int] = {}
    for (compile_id, _), count in counts.items():
        runs[compile_id] = max(count, runs.get(compile_id, 0))
    return runs


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
