"""Observe one aspect of a compile or a call: `steps`, `replay`, `memory` or `levels`."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from tclab.capturing.fresh import hide_earlier_compiles, python_function
from tclab.capturing.read import levels as _levels
from tclab.capturing.read import memory as _memory
from tclab.capturing.read import replay as _replay
from tclab.capturing.read import steps as _steps
from tclab.capturing.read.memory import ProfilerEvent
from tclab.capturing.torch_private import check, decomposing, stepping
from tclab.capturing.trace.events import Trace
from tclab.errors import CaptureError
from tclab.model import Levels, Memory, Replay, Steps
from tclab.text import user_lines

#: Phase name → the function that runs the phase, in the order of a run.
Phases = Mapping[str, Callable[[], object]]


def steps(fn: Callable[..., Any], *args: object) -> Steps:
    """Return Dynamo's symbolic execution of ``fn(*args)``, without code generation."""
    check.require()
    trace = Trace()
    with hide_earlier_compiles(fn), stepping.note_steps(trace):
        torch.compile(fn, backend="eager")(*args)
    return _steps.read_steps(trace)


def levels(fn: Callable[..., Any], *args: object) -> Levels:
    """Return the operator calls of ``fn(*args)`` as ATen, as Core ATen and as prims. Each call
    names the call of the level above from which it was decomposed. `fn` is run without compiling.
    Raises CaptureError if `fn` cannot be traced.
    """
    check.require()
    try:
        return _levels.read_levels(decomposing.trace_levels(fn, args, user_lines.is_user_file))
    except Exception as error:
        cause = f"cannot be traced: {type(error).__name__}: {error!s:.200}"
        step = "call it without tracing first; no .item() and no if on a tensor can be traced"
        raise CaptureError("tclab.levels", cause, step) from error


def replay(
    fn: Callable[..., Any], calls: Iterable[tuple[object, ...]], **compile_options: Any
) -> Replay:
    """Compile `fn` and call it with each tuple of arguments. Return for each call the cache entries
    that it tried, the guard that failed in each, and the new entry if it compiled.
    """
    check.require()
    function = python_function(fn)
    if function is None:
        step = "pass a Python function or a module"
        raise CaptureError("tclab.replay", f"{fn!r:.60} has no Python code", step)
    module_argument: tuple[object, ...] = (fn,) if isinstance(fn, torch.nn.Module) else ()
    cached_calls = []
    with hide_earlier_compiles(fn):
        compiled = torch.compile(fn, **compile_options)
        for args in calls:
            values = _replay.bind_arguments(function, (*module_argument, *args))
            call = functools.partial(compiled, *args)
            cached_calls.append(_replay.observe_call(function.__code__, values, call))
    return Replay("Call by call", "replay", tuple(cached_calls))


def memory(runs: Mapping[str, Phases], caption: str = "") -> Memory:
    """Profile each of `runs`, phase by phase, and return the bytes of CPU memory allocated after
    each allocation and release. Compile before you call this, because compiling allocates memory,
    too.
    """
    memory_runs = tuple(
        _memory.read_memory_run(label, _profile_phases(phases)) for label, phases in runs.items()
    )
    return Memory("Memory held", "memory", memory_runs, caption)


def _profile_phases(phases: Phases) -> Sequence[ProfilerEvent]:
    """Run the phases one after the other and return the profiler's events."""
    cpu = torch.profiler.ProfilerActivity.CPU
    with torch.profiler.profile(activities=[cpu], profile_memory=True) as profile:
        for name, phase in phases.items():
            with torch.profiler.record_function(_memory.MARK + name):
                phase()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(file))
        events: list[ProfilerEvent] = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    return events
