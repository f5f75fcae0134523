"""`steps`, `replay`, `memory` and `levels`: one thing of a compile or a call, watched closely."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from tclab import user_lines
from tclab.capturing.fresh import fresh, function_of
from tclab.capturing.read import levels as _levels
from tclab.capturing.read import memory as _memory
from tclab.capturing.read import replay as _replay
from tclab.capturing.read import steps as _steps
from tclab.capturing.read.memory import ProfilerEvent
from tclab.capturing.torch_private import check, decomposing, stepping
from tclab.capturing.trace.events import Trace
from tclab.errors import CaptureError
from tclab.model import Levels, Memory, Replay, Steps

#: The phases of one run, by name, in order.
Phases = Mapping[str, Callable[[], object]]


def steps(fn: Callable[..., Any], *args: object) -> Steps:
    """Dynamo's symbolic execution of ``fn(*args)``, without code generation."""
    check.require()
    trace = Trace()
    with fresh(fn), stepping.noting(trace):
        torch.compile(fn, backend="eager")(*args)
    return _steps.steps(trace)


def levels(fn: Callable[..., Any], *args: object) -> Levels:
    """``fn(*args)`` as calls of ATen, of Core ATen and of prims, each with the call above that it
    was made from. `fn` is run, not compiled. CaptureError where it cannot be traced.
    """
    check.require()
    try:
        return _levels.levels(decomposing.traced(fn, args, user_lines.is_users))
    except Exception as error:
        cause = f"cannot be traced: {type(error).__name__}: {error!s:.200}"
        step = "call it without tracing first; no .item() and no if on a tensor can be traced"
        raise CaptureError("tclab.levels", cause, step) from error


def replay(
    fn: Callable[..., Any], calls: Iterable[tuple[object, ...]], **compile_options: Any
) -> Replay:
    """Compile `fn` and call it with each tuple of arguments in turn: the cache entries that each
    call tried, the guard that failed in each, and what was compiled. CaptureError for what has no
    Python code.
    """
    check.require()
    function = function_of(fn)
    if function is None:
        step = "pass a Python function or a module"
        raise CaptureError("tclab.replay", f"{fn!r:.60} has no Python code", step)
    own: tuple[object, ...] = (fn,) if isinstance(fn, torch.nn.Module) else ()
    observed = []
    with fresh(fn):
        compiled = torch.compile(fn, **compile_options)
        for args in calls:
            values = _replay.arguments(function, (*own, *args))
            call = functools.partial(compiled, *args)
            observed.append(_replay.observed(function.__code__, values, call))
    return Replay("Call by call", "replay", tuple(observed))


def memory(runs: Mapping[str, Phases], caption: str = "") -> Memory:
    """The CPU memory held while each of `runs` goes through its phases, as the allocator tells
    PyTorch's profiler. Do once what compiles, before it is watched.
    """
    watched = tuple(_memory.run(label, _profiled(phases)) for label, phases in runs.items())
    return Memory("Memory held", "memory", watched, caption)


def _profiled(phases: Phases) -> Sequence[ProfilerEvent]:
    """The profiler's events while the phases run one after the other."""
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
