"""Read compile seconds by phase from PyTorch's events for Chrome's trace viewer.

The events are nested. Each moment counts for the innermost event that has a phase in `_PHASES`, so
the phases add up to the total and no moment counts twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.names import ChromeEvent
from tclab.model import Chart, CompileTime, Phase

_PHASES = {
    "dynamo": "Dynamo",
    "entire_frame_compile": "Dynamo",
    "bytecode_tracing": "Dynamo: tracing bytecode",
    "build_guards": "Dynamo: building guards",
    "backend_compile": "Other backend work",
    "_recursive_pre_grad_passes": "Inductor: pre-grad passes",
    "create_aot_dispatcher_function": "AOTAutograd",
    "_recursive_joint_graph_passes": "Inductor: joint-graph passes",
    "min_cut_rematerialization_partition": "AOTAutograd: partitioning",
    "entire_backward_compile": "AOTAutograd",
    "inductor_compile": "Inductor",
    "_recursive_post_grad_passes": "Inductor: post-grad passes",
    "GraphLowering.run": "Inductor: lowering",
    "Scheduler.__init__": "Inductor: scheduling and fusion",
    "GraphLowering.codegen": "Inductor: code generation",
    names.VECTOR_ISA: "Trying the CPU's vector instructions",
    "compile_file": "C++ compiler",
    "async_compile.precompile": "Triton compiler",
    "async_compile.wait": "Waiting for kernels to compile",
    "CachingAutotuner.slow_precompile_config": "Triton compiler",
    "CachingAutotuner.benchmark_all_configs": "Autotuning",
    "CachingAutotuner.coordinate_descent_tuning": "Autotuning",
    "benchmark_fused_nodes": "Autotuning",
    "CacheBase.get_system.triton_key": "Hashing Triton's sources, once a process",
    "inductor_codecache_torch_key": "Hashing PyTorch's sources, once a process",
}
#: The events that begin the compile of a frame or of a backward graph.
_COMPILES = ("dynamo", "entire_backward_compile")
#: The beginning and the length of a phase in seconds, and the name of the phase.
Span = tuple[float, float, str]

_AUTOTUNING_SUFFIXES = ("_template_autotuning", "_template_precompiling")


class PhaseTimes:
    """Sums the seconds of each phase from Chrome's events, one after the other. A log of a long job
    has millions of them, which need not be kept.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)
        self._counts: dict[str, int] = defaultdict(int)
        self._stacks: dict[object, list[tuple[str, str]]] = defaultdict(list)
        self._last: dict[object, float] = {}
        self._compiles = 0  # frames and backward graphs

    def add(self, data: ChromeEvent) -> None:
        """Add the next event."""
        if data.get("ph") not in ("B", "E"):
            return
        self._compiles += data["ph"] == "B" and data["name"] in _COMPILES
        thread = data.get("pid"), data.get("tid")
        stack, now = self._stacks[thread], data["ts"] / 1e6
        if stack and stack[-1][1]:
            self._seconds[stack[-1][1]] += now - self._last[thread]
        self._last[thread] = now
        _enter_or_leave(stack, data, self._counts)

    def compile_time(self) -> CompileTime:
        """Return the seconds of each phase, without the time of inner phases, in the order of
        `_PHASES`.
        """
        order = [phase for phase in dict.fromkeys(_PHASES.values()) if phase in self._seconds]
        phases = (Phase(phase, self._counts[phase], self._seconds[phase]) for phase in order)
        return CompileTime(tuple(phases), self._compiles)


def read_compile_time(trace: Trace) -> CompileTime:
    """Return the seconds of each phase, without the time of inner phases."""
    times = PhaseTimes()
    for event in trace.select(names.CHROME):
        times.add(event.data)
    return times.compile_time()


def read_seconds_by_compile(trace: Trace) -> dict[str, float]:
    """Map the id of each compile to the seconds of this compile and of its backward."""
    seconds: dict[str, float] = defaultdict(float)
    for event in trace.select(names.METRICS, "bwd_compilation_metrics"):
        seconds[event.compile_id] += read_seconds(event.data or {})
    return seconds


def read_seconds(metrics: Mapping[str, Any]) -> float:
    """Return the seconds of one compile from its metrics."""
    whole = metrics.get("entire_frame_compile_time_s")
    return float(whole) if whole is not None else float(metrics.get("duration_us") or 0) / 1e6


def read_timeline(trace: Trace) -> Chart:
    """Return a chart with one span for each phase, in seconds since the first phase began.

    The phases are nested. The chart leaves out the phases that are shorter than a hundredth of the
    whole time.
    """
    stacks: dict[object, list[tuple[str, float]]] = defaultdict(list)
    spans: list[Span] = []
    for event in trace.select(names.CHROME):
        data = event.data
        stack, now = stacks[data.get("pid"), data.get("tid")], data["ts"] / 1e6
        if data.get("ph") == "B":
            stack.append((data["name"], now))
        elif data.get("ph") == "E":
            spans += _close_event(stack, data["name"], now)
    return _draw_timeline(sorted(spans, key=lambda span: (span[0], -span[1])))


def _close_event(stack: list[tuple[str, float]], name: str, now: float) -> Iterator[Span]:
    """Yield the phases that end with the event `name`: its own phase, and the phases still open
    inside it.
    """
    while name in [open_ for open_, _ in stack]:
        inner, begin = stack.pop()
        phase, outer_phase = _PHASES.get(inner), _PHASES.get(stack[-1][0]) if stack else None
        if phase and phase != outer_phase:
            yield begin, now - begin, phase
        if inner == name:
            return


def _draw_timeline(spans: list[Span]) -> Chart:
    first = min((begin for begin, *_ in spans), default=0.0)
    whole = max((begin + length for begin, length, _ in spans), default=first) - first
    long_enough = [span for span in spans if span[1] >= whole / 100]
    return Chart(
        title="Timeline of the compile",
        name="timeline",
        x=tuple(phase for *_, phase in long_enough),
        series={
            "begin": tuple(begin - first for begin, *_ in long_enough),
            "length": tuple(length for _, length, _ in long_enough),
        },
        x_label="phase",
        y_label="seconds",
        style="span",
        caption="Phases shorter than a hundredth of the whole are left out.",
    )


def _enter_or_leave(
    stack: list[tuple[str, str]], data: ChromeEvent, counts: dict[str, int]
) -> None:
    """Push a phase that begins. Pop a phase that ends, together with the phases still open inside
    it.
    """
    name = data["name"]
    if data["ph"] == "B":
        own_phase = "Autotuning" if name.endswith(_AUTOTUNING_SUFFIXES) else _PHASES.get(name, "")
        phase = own_phase or (stack[-1][1] if stack else "")
        counts[phase] += bool(own_phase)
        stack.append((name, phase))
        return
    if name in [open_ for open_, _ in stack]:
        while stack.pop()[0] != name:
            pass
