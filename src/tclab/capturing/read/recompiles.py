"""Read the recompiles, with the guards that failed, and the symbolic sizes."""

from __future__ import annotations

import json

from tclab.capturing.read.frames import (
    Frame,
    files_by_short_name,
    frames_by_compile,
    traced_stack,
)
from tclab.capturing.read.guards import restore_file_names
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.model import Recompile, Recompiles, Symbol, Symbols
from tclab.text.scrub import scrub


def read_recompiles(trace: Trace) -> Recompiles:
    """Return each compile of code that already had cache entries."""
    frames = frames_by_compile(trace)
    files = files_by_short_name(trace)
    all_recompiles = (
        _make_recompile(event, frames.get(event.compile_id), _read_reasons(event, trace, files))
        for event in trace.select("recompile_reasons")
    )
    return Recompiles("Recompiles", "recompiles", tuple(all_recompiles))


def _make_recompile(
    event: Event[object], frame: Frame | None, reasons: tuple[str, ...]
) -> Recompile:
    return Recompile(
        compile_id=event.compile_id,
        function=frame.function if frame else "",
        reasons=reasons,
        location=frame.location if frame else None,
    )


def _read_reasons(event: Event[object], trace: Trace, files: dict[str, str]) -> tuple[str, ...]:
    try:
        reasons = json.loads(event.payload)
    except ValueError:
        reasons = [event.payload]
    if isinstance(reasons, str):
        reasons = [reasons]
    with_full_names = (restore_file_names(str(reason).strip(), files) for reason in reasons)
    return tuple(scrub(trace.renumber(reason)) for reason in with_full_names)


def read_symbols(trace: Trace) -> Symbols:
    """Return each symbol once. A frame that restarts creates its symbols again."""
    unique: dict[tuple[str, str, str], Symbol] = {}
    for event in trace.select(names.CREATED_SYMBOL):
        data = event.data
        stack = traced_stack(data.get("user_stack") or [])
        symbol = Symbol(
            name=data["symbol"],
            value=str(data["val"]),
            source=scrub(data["source"]),
            bounds=data.get("vr", ""),
            location=stack[-1] if stack else None,
        )
        unique.setdefault((event.compile_id, symbol.name, symbol.source), symbol)
    return Symbols("Symbols", "symbols", tuple(unique.values()))
