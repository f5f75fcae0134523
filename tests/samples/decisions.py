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
    from tclab.text.scrub import scrub

    said = {"steps": _steps(fn), "guards": _guards(fn), "cut": _cut(fn), "memory": _memory(fn)}
    said |= {"pairs": _pairs(fn), "levels": _levels(fn)}
    return scrub(json.dumps(said, indent=0)) + "\n"


def _steps(fn: SimpleNamespace) -> list[dict[str, Any]]:
    import torch

    from tclab.capturing.torch_private import stepping
    from tclab.capturing.trace import names
    from tclab.capturing.trace.events import Trace

    trace = Trace()
    with stepping.note_steps(trace):
        torch.compile(fn.rows, backend="eager")(torch.ones(4, 4), torch.tensor([1, 2]))
    return [asdict(event.data) for event in trace.select(names.STEP)]


def _guards(fn: SimpleNamespace) -> list[str]:
    """The guards that a call with one element fails, after calls with 8 and 16."""
    import torch

    from tclab.capturing.torch_private import compiler

    compiled = torch.compile(fn.exponential, backend="eager")
    for size in (8, 16):
        compiled(torch.ones(size))
    entries = compiler.cache_entries(fn.exponential.__code__)
    return [compiler.first_failed_guard(entry, {"x": torch.ones(1)}) for entry in entries]


def _cut(fn: SimpleNamespace) -> list[dict[str, Any]]:
    import torch

    import tclab
    from tclab.capturing.trace import names

    w = torch.ones(16, 8, requires_grad=True)
    capture = tclab.capture(fn.product, backward=True, backend="aot_eager")(torch.ones(4, 16), w)
    return [asdict(event.data) for event in capture.trace.select(names.CUT)]


def _memory(fn: SimpleNamespace) -> list[dict[str, Any]]:
    import torch

    from tclab.capturing import observe

    x, kept = torch.ones(256, requires_grad=True), []
    phases = {
        "forward": lambda: kept.append(fn.total(x)),
        "backward": lambda: kept.append(torch.autograd.grad(kept.pop(), x)),
    }
    events = list(_read(observe._profile_phases(phases)))
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
    events = [e for e in trace.select(*fusion.EVENTS) if not e.payload.startswith(" ")]
    said = [{"name": e.name, "data": e.data and asdict(e.data), "text": e.payload} for e in events]
    (body,) = trace.select(names.LOOP_BODIES)
    return [
        *said,
        {"name": names.LOOP_BODIES, "data": {**asdict(body.data), "marks": {}}, "text": ""},
    ]


def _levels(fn: SimpleNamespace) -> list[list[dict[str, Any]]]:
    import torch

    from tclab.capturing.torch_private import decomposing
    from tclab.text import user_lines

    args = torch.ones(4, 8), torch.ones(8, 8)
    traced = decomposing.trace_levels(fn.gate, args, user_lines.is_user_file)
    return [[asdict(note) for note in level] for level in traced]
