"""Recompiles with the guards that failed, and the symbols made for sizes."""

from __future__ import annotations

import json

from tclab.capturing.read.frames import Frame, frames, traced_stack
from tclab.capturing.read.guards import whole_files
from tclab.capturing.torch_private import compiler
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.model import Recompile, Recompiles, Symbol, Symbols
from tclab.scrub import scrub


def recompiles(trace: Trace) -> Recompiles:
    """Every compile of code that already had cache entries."""
    of = frames(trace)
    files = compiler.shortened({frame.file for frame in of.values()})
    several = (
        _recompile(event, of.get(event.compile_id), _reasons(event, trace, files))
        for event in trace.named("recompile_reasons")
    )
    return Recompiles("Recompiles", "recompiles", tuple(several))


def _recompile(event: Event[object], frame: Frame | None, reasons: tuple[str, ...]) -> Recompile:
    return Recompile(
        compile_id=event.compile_id,
        function=frame.function if frame else "",
        reasons=reasons,
        location=frame.location if frame else None,
    )


def _reasons(event: Event[object], trace: Trace, files: dict[str, str]) -> tuple[str, ...]:
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
    once: dict[tuple[str, str, str], Symbol] = {}
    for event in trace.named(names.CREATED_SYMBOL):
        data = event.data
        stack = traced_stack(data.get("user_stack") or [])
        symbol = Symbol(
            name=data["symbol"],
            value=str(data["val"]),
            source=scrub(data["source"]),
            bounds=data.get("vr", ""),
            location=stack[-1] if stack else None,
        )
        once.setdefault((event.compile_id, symbol.name, symbol.source), symbol)
    return Symbols("Symbols", "symbols", tuple(once.values()))
