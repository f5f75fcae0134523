"""Read a curve of allocated memory from the trace that PyTorch's profiler writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tclab.model import MemoryPhase, MemoryRun, Moment

#: An event in Chrome's trace format, with a name, a category, a beginning and a length in µs, and
#: arguments.
ProfilerEvent = Mapping[str, Any]
#: The beginning and the end in µs, and the name of an operation or phase.
Span = tuple[float, float, str]

_MEMORY = "[memory]"
# ## Call CompiledFxGraph fgmci4gcjrsbxj64o6drop3rhh7s7vfha5njs3vigyekuh4rbdbr ##
_COMPILED_GRAPH = re.compile(r"^## Call CompiledFxGraph \w+ ##$")
# autograd::engine::evaluate_function: SoftmaxBackward0
_BACKWARD = "autograd::engine::evaluate_function: "
MARK = "tclab: "  #: prefix of a phase's name in the profiler's trace


def read_memory_run(label: str, events: Sequence[ProfilerEvent]) -> MemoryRun:
    """Return the phases whose names begin with `MARK`, each with the allocated bytes after every
    allocation and release.

    The bytes are 0 at the beginning, so that they become negative when earlier memory is released.
    """
    moments = [e for e in events if e.get("name") == _MEMORY]
    moments.sort(key=lambda event: (event["ts"], event["args"].get("Ev Idx", 0)))
    operations = sorted(_read_spans(events, "cpu_op"))
    phases, allocated = [], 0
    for begin, end, name in sorted(_read_spans(events, "user_annotation")):
        inside = [event for event in moments if begin <= event["ts"] <= end]
        curve = []
        for event in inside:
            allocated += event["args"]["Bytes"]
            curve.append(Moment(allocated, _operation_at(event["ts"], operations)))
        phases.append(MemoryPhase(name.removeprefix(MARK), tuple(curve)))
    return MemoryRun(label, tuple(phases))


def _read_spans(events: Sequence[ProfilerEvent], category: str) -> Iterator[Span]:
    for event in events:
        is_phase = event.get("name", "").startswith(MARK)
        if (
            event.get("cat") == category
            and event.get("ph") == "X"
            and (is_phase or category == "cpu_op")
        ):
            yield event["ts"], event["ts"] + event["dur"], event["name"]


def _operation_at(time: float, operations: Sequence[Span]) -> str:
    """Return the operation that was running at `time` and began last, which is the innermost one;
    '' if none was running.
    """
    running = [name for begin, end, name in operations if begin <= time <= end]
    return (
        _COMPILED_GRAPH.sub("compiled graph", running[-1].removeprefix(_BACKWARD))
        if running
        else ""
    )
