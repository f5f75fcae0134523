"""Original and rewritten bytecode of each compiled frame."""

from __future__ import annotations

import dis
from types import CodeType

from tclab.capturing.read.frames import original
from tclab.capturing.trace.events import Event, Trace
from tclab.model import Listing
from tclab.scrub import scrub


def bytecode(trace: Trace) -> tuple[Listing, ...]:
    """Two listings a compile: what Python compiled, and what Dynamo made of it."""
    found: list[Listing] = []
    for index, event in enumerate(trace.named("bytecode")):
        old, new = event.data
        for which, code in (("original", old), ("rewritten", new)):
            name = f"{which}-bytecode-{index}" if index else f"{which}-bytecode"
            found.append(_listing(trace.stable(scrub(_dis(code))), code, old, name, event))
    return tuple(found)


def _dis(code: CodeType) -> str:
    return dis.Bytecode(code).dis()


def _listing(text: str, code: CodeType, old: CodeType, name: str, event: Event) -> Listing:
    which = "Original" if code is old else "Rewritten"
    file = scrub(old.co_filename)
    kind = "resume function of " if original(old.co_name) != old.co_name else ""
    return Listing(
        title=f"{which} bytecode of {kind}{original(old.co_name)} ({event.compile_id})",
        name=name,
        code=text,
        language="text",
        stage="bytecode",
        filename=file,
        links=_links(text, code, file),
    )


def shown_instructions(text: str, code: CodeType) -> list[tuple[int, dis.Instruction]]:
    """Each printed line (from 1) with its instruction; nothing if they do not pair up."""
    shown = instruction_lines(text)
    instructions = list(dis.get_instructions(code))
    return list(zip(shown, instructions)) if len(shown) == len(instructions) else []


def instruction_lines(text: str) -> list[int]:
    """The lines (from 1) of a disassembly that are instructions: empty lines stand between lines
    of the source, and a table of exceptions may end it.
    """
    listing, _, _ = text.partition("\nExceptionTable:\n")
    return [number for number, line in enumerate(listing.splitlines(), 1) if line.strip()]


def _links(text: str, code: CodeType, file: str) -> dict[int, tuple[str, ...]]:
    """Each printed instruction's Python line."""
    pairs = shown_instructions(text, code)
    lines = _source_lines([instruction for _, instruction in pairs])
    return {n: (f"py:{file}:{line}",) for (n, _), line in zip(pairs, lines) if line}


def _source_lines(instructions: list[dis.Instruction]) -> list[int | None]:
    current: int | None = None
    lines: list[int | None] = []
    for instruction in instructions:
        positions = getattr(instruction, "positions", None)  # Python 3.11 and later
        if positions is not None:
            current = positions.lineno
        elif instruction.starts_line:
            current = int(instruction.starts_line)
        lines.append(current)
    return lines
