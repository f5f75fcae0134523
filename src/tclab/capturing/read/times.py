"""Compile seconds by phase, from the events PyTorch writes for Chrome's trace viewer.

Events nest. Each moment belongs to the innermost event that has a phase here, so the phases
add up to the total and nothing is counted twice.
"""

from __future__ import annotations

from collections import defaultdict

from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.names import ChromeEvent
from tclab.model import Table

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
    "async_compile.precompile": "Triton compiler",
    "async_compile.wait": "Waiting for kernels to compile",
    "CachingAutotuner.slow_precompile_config": "Triton compiler",
    "CachingAutotuner.benchmark_all_configs": "Autotuning",
    "CachingAutotuner.coordinate_descent_tuning": "Autotuning",
    "benchmark_fused_nodes": "Autotuning",
    "CacheBase.get_system.triton_key": "Hashing Triton's sources, once a process",
    "inductor_codecache_torch_key": "Hashing PyTorch's sources, once a process",
}
_TUNING = ("_template_autotuning", "_template_precompiling")


def times(trace: Trace) -> Table:
    """Seconds of each phase, exclusive of the phases inside it, and their total."""
    seconds: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    stacks: dict[object, list[tuple[str, str]]] = defaultdict(list)
    last: dict[object, float] = {}
    for event in trace.named(names.CHROME):
        data = event.data
        if data.get("ph") not in ("B", "E"):
            continue
        thread = data.get("pid"), data.get("tid")
        stack, now = stacks[thread], data["ts"] / 1e6
        if stack and stack[-1][1]:
            seconds[stack[-1][1]] += now - last[thread]
        last[thread] = now
        _move(stack, data, counts)
    order = [phase for phase in dict.fromkeys(_PHASES.values()) if phase in seconds]
    rows = [(phase, counts[phase], seconds[phase]) for phase in order]
    rows.append(("Total", _compiles(trace), sum(seconds.values())))
    return Table(
        title="Compile time by phase",
        name="times",
        columns=("phase", "times", "seconds"),
        rows=tuple(rows),
        units=("", "", "s"),
        formats=("", "d", ".3f"),
    )


def _compiles(trace: Trace) -> int:
    """Frames and backward graphs that were compiled."""
    begun = [e.data["name"] for e in trace.named(names.CHROME) if e.data.get("ph") == "B"]
    return begun.count("dynamo") + begun.count("entire_backward_compile")


def _move(stack: list[tuple[str, str]], data: ChromeEvent, counts: dict[str, int]) -> None:
    """Enter or leave an event; one that ends takes those left open inside it along."""
    name = data["name"]
    if data["ph"] == "B":
        own = "Autotuning" if name.endswith(_TUNING) else _PHASES.get(name, "")
        phase = own or (stack[-1][1] if stack else "")
        counts[phase] += bool(own)
        stack.append((name, phase))
        return
    if name in [open_ for open_, _ in stack]:
        while stack.pop()[0] != name:
            pass
