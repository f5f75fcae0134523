"""Recompiles with the guards that failed, and the symbols made for sizes."""

from __future__ import annotations

import json

from tclab.capturing.read.frames import frames, traced_stack
from tclab.capturing.read.guards import whole_files
from tclab.capturing.torch_private import compiler
from tclab.capturing.trace.events import Event, Trace
from tclab.model import Recompile, Recompiles, Symbol, Symbols
from tclab.scrub import scrub


def recompiles(trace: Trace) -> Recompiles:
    """Every compile of code that already had cache entries."""
    of = frames(trace)
    files = compiler.shortened({frame.file for frame in of.values()})
    found = []
    for event in trace.named("recompile_reasons"):
        frame = of.get(event.compile_id)
        found.append(
            Recompile(
                compile_id=event.compile_id,
                function=frame.function if frame else "",
                reasons=_reasons(event, trace, files),
                location=frame.location if frame else None,
            )
        )
    return Recompiles("Recompiles", "recompiles", tuple(found))


def _reasons(event: Event, trace: Trace, files: dict[str, str]) -> tuple[str, ...]:
    try:
        reasons = json.loads(event.payload)
    except ValueError:
        reasons = [event.payload]
    if isinstance(reasons, str):
        reasons = [reasons]
    whole = (whole_files(str(reason).strip(), files) for reason in reasons)
    return tuple(scrub(trace.renumber(reason)) for reason in whole)


def symbols(trace: Trace) -> Symbols:
    """Each symbol once: a frame that restarts makes its symbols again."""
    found: dict[tuple[str, str, str], Symbol] = {}
    for event in trace.named("create_symbol"):
        data = event.data
        stack = traced_stack(data.get("user_stack") or [])
        symbol = Symbol(
            name=data["symbol"],
            value=str(data["val"]),
            source=scrub(data["source"]),
            bounds=data.get("vr", ""),
            location=stack[-1] if stack else None,
        )
        found.setdefault((event.compile_id, symbol.name, symbol.source), symbol)
    return Symbols("Symbols", "symbols", tuple(found.values()))
