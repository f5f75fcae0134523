"""Samples of what was decided one by one: instructions, guards that fail, cuts, memory, pairs of
scheduler nodes; and of calls level by level.

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
    """JSON with an entry a function of this module, of the functions of functions.py."""
    from tclab.scrub import scrub

    said = {"steps": _steps(fn), "guards": _guards(fn), "cut": _cut(fn), "memory": _memory(fn)}
    said |= {"pairs": _pairs(fn), "levels": _levels(fn)}
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


def _pairs(fn: SimpleNamespace) -> list[dict[str, Any]]:
    """What the scheduler said and asked, and at last its nodes."""
    import torch

    import tclab
    from tclab.capturing.read import fusion
    from tclab.capturing.trace import names

    trace = tclab.capture(fn.rows_and_columns)(torch.ones(32, 32)).trace
    # Not the candidates, which are long and not read.
    events = [e for e in trace.named(*fusion.EVENTS) if not e.payload.startswith(" ")]
    said = [{"name": e.name, "data": e.data and asdict(e.data), "text": e.payload} for e in events]
    (body,) = trace.named(names.BODY)
    return [*said, {"name": names.BODY, "data": {**asdict(body.data), "marks": {}}, "text": ""}]


def _levels(fn: SimpleNamespace) -> list[list[dict[str, Any]]]:
    import torch

    from tclab import user_lines
    from tclab.capturing.torch_private import decomposing

    args = torch.ones(4, 8), torch.ones(8, 8)
    traced = decomposing.traced(fn.gate, args, user_lines.is_users)
    return [[asdict(note) for note in level] for level in traced]
