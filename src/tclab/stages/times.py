"""Compile seconds by phase, from the events PyTorch writes for Chrome's trace viewer.

Events nest. Each moment belongs to the innermost event that has a phase here, so the phases
add up to the total and nothing is counted twice.
"""

from __future__ import annotations

from collections import defaultdict

from tclab.model import Table
from tclab.stages.trace import Trace

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
    "compile_file": "C++ compiler",
    "async_compile.wait": "Waiting for kernels to compile",
    "compile_triton": "Triton compiler",
    "triton_compile": "Triton compiler",
    "_compile.compile_inner": "Dynamo",
}


def times(trace: Trace) -> Table:
    """Seconds of each phase, exclusive of the phases inside it, and their total."""
    seconds: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    stacks: dict[object, list[tuple[str, str]]] = defaultdict(list)
    last: dict[object, float] = {}
    for event in trace.named("chromium_event"):
        data = event.data
        if data.get("ph") not in ("B", "E"):
            continue
        thread = data.get("pid"), data.get("tid")
        stack, now = stacks[thread], data["ts"] / 1e6
        if stack and stack[-1][1]:
            seconds[stack[-1][1]] += now - last[thread]
        last[thread] = now
        _move(stack, data, counts)
    rows = [(phase, counts[phase], seconds[phase]) for phase in seconds]
    rows.append(("Total", sum(e.data.get("ph") == "B" and e.data["name"] in ("dynamo",
                 "entire_backward_compile") for e in trace.named("chromium_event")),
                 sum(seconds.values())))  # fmt: skip
    return Table(
        title="Compile time by phase",
        name="times",
        columns=("phase", "times", "seconds"),
        rows=tuple(rows),
        units=("", "", "s"),
        formats=("", "d", ".3f"),
    )


def _move(stack: list[tuple[str, str]], data: dict, counts: dict[str, int]) -> None:
    """Enter or leave an event; one that ends takes those left open inside it along."""
    name = data["name"]
    if data["ph"] == "B":
        phase = _PHASES.get(name, stack[-1][1] if stack else "")
        counts[phase] += name in _PHASES
        stack.append((name, phase))
        return
    if name in [open_ for open_, _ in stack]:
        while stack.pop()[0] != name:
            pass
