"""Samples of what was decided one by one: instructions, guards that fail, cuts, memory.

Written by make.py as ``decisions.json``: what the readers get, before it is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

#: Of an event of the profiler, what is read.
_READ = ("name", "cat", "ph", "ts", "dur")


def sampled(fn: SimpleNamespace) -> str:
    """JSON with `steps`, `guards`, `cut` and `memory`, of the functions of functions.py."""
    from tclab.scrub import scrub

    said = {"steps": _steps(fn), "guards": _guards(fn), "cut": _cut(fn), "memory": _memory(fn)}
    return scrub(json.dumps(said, indent=0)) + "\n"


def _steps(fn: SimpleNamespace) -> list[dict[str, Any]]:
    import torch

    from tclab.capturing.torch_private import stepping
    from tclab.capturing.trace import names
    from tclab.capturing.trace.events import Trace

    trace = Trace()
    with stepping.noting(trace):
        torch.compile(fn.rows, backend="eager")(torch.ones(4, 4), torch.tensor([1, 2]))
    return [asdict(event.data) for event in trace.named(names.STEP)]


def _guards(fn: SimpleNamespace) -> list[str]:
    """The guards that a call with one element fails, after calls with 8 and 16."""
    import torch

    from tclab.capturing.torch_private import compiler

    compiled = torch.compile(fn.exponential, backend="eager")
    for size in (8, 16):
        compiled(torch.ones(size))
    entries = compiler.entries(fn.exponential.__code__)
    return [compiler.failed_guard(entry, {"x": torch.ones(1)}) for entry in entries]


def _cut(fn: SimpleNamespace) -> list[dict[str, Any]]:
    import torch

    import tclab
    from tclab.capturing.trace import names

    w = torch.ones(16, 8, requires_grad=True)
    capture = tclab.capture(fn.product, backward=True, backend="aot_eager")(torch.ones(4, 16), w)
    return [asdict(event.data) for event in capture.trace.named(names.CUT)]


def _memory(fn: SimpleNamespace) -> list[dict[str, Any]]:
    import torch

    from tclab.capturing import observe

    x, kept = torch.ones(256, requires_grad=True), []
    phases = {
        "forward": lambda: kept.append(fn.total(x)),
        "backward": lambda: kept.append(torch.autograd.grad(kept.pop(), x)),
    }
    events = list(_read(observe._profiled(phases)))
    first = min(event["ts"] for event in events)
    return [{**event, "ts": round(event["ts"] - first, 3)} for event in events]


def _read(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for event in events:
        if event.get("cat") in ("cpu_op", "user_annotation", "cpu_instant_event"):
            kept = {key: event[key] for key in _READ if key in event}
            args = {key: event["args"][key] for key in ("Bytes", "Ev Idx") if key in event["args"]}
            yield {**kept, "args": args}
