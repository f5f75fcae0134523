"""Memory held while something ran, from the trace that PyTorch's profiler writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tclab.model import MemoryPhase, MemoryRun, Moment

#: An event of Chrome's trace: name, category, begin and length in microseconds, arguments.
ProfilerEvent = Mapping[str, Any]
#: Begin, end and name of what ran.
Span = tuple[float, float, str]

_MEMORY = "[memory]"
# ## Call CompiledFxGraph fgmci4gcjrsbxj64o6drop3rhh7s7vfha5njs3vigyekuh4rbdbr ##
_COMPILED_GRAPH = re.compile(r"^## Call CompiledFxGraph \w+ ##$")
# autograd::engine::evaluate_function: SoftmaxBackward0
_BACKWARD = "autograd::engine::evaluate_function: "
MARK = "tclab: "  #: before the name of a phase


def run(label: str, events: Sequence[ProfilerEvent]) -> MemoryRun:
    """The phases that `MARK` names, each with every allocation and release in it, in order.

    Bytes count from the begin: what was there before is 0, and giving it back goes below.
    """
    moments = [e for e in events if e.get("name") == _MEMORY]
    moments.sort(key=lambda event: (event["ts"], event["args"].get("Ev Idx", 0)))
    operations = sorted(_spans(events, "cpu_op"))
    phases, allocated = [], 0
    for begin, end, name in sorted(_spans(events, "user_annotation")):
        inside = [event for event in moments if begin <= event["ts"] <= end]
        curve = []
        for event in inside:
            allocated += event["args"]["Bytes"]
            curve.append(Moment(allocated, _during(event["ts"], operations)))
        phases.append(MemoryPhase(name.removeprefix(MARK), tuple(curve)))
    return MemoryRun(label, tuple(phases))


def _spans(events: Sequence[ProfilerEvent], category: str) -> Iterator[Span]:
    for event in events:
        marked = event.get("name", "").startswith(MARK)
        if (
            event.get("cat") == category
            and event.get("ph") == "X"
            and (marked or category == "cpu_op")
        ):
            yield event["ts"], event["ts"] + event["dur"], event["name"]


def _during(time: float, operations: Sequence[Span]) -> str:
    """The innermost operation that ran then, or ''. Of those around a moment, the last begun."""
    around = [name for begin, end, name in operations if begin <= time <= end]
    return (
        _COMPILED_GRAPH.sub("compiled graph", around[-1].removeprefix(_BACKWARD)) if around else ""
    )
