"""Original and rewritten bytecode of each compiled frame."""

from __future__ import annotations

import dis
from dataclasses import dataclass
from types import CodeType

from tclab.capturing.read.frames import original
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.model import Listing, links, source_lines
from tclab.scrub import scrub


@dataclass(frozen=True)
class Rewritten:
    """The bytecode of one compile: what Python compiled, and what Dynamo made of it."""

    compile_id: str
    code: CodeType  # what Python compiled
    original: Listing
    rewritten: Listing

    def instructions(self) -> list[tuple[int, dis.Instruction]]:
        """Each printed line of the original (from 1) with its instruction."""
        return shown_instructions(self.original.code, self.code)


def bytecode(trace: Trace) -> tuple[Rewritten, ...]:
    """The bytecode of each compile, in order."""
    return tuple(
        _rewritten(event, f"-{index}" if index else "", trace)
        for index, event in enumerate(trace.named(names.BYTECODE))
    )


def _rewritten(event: Event[tuple[CodeType, CodeType]], suffix: str, trace: Trace) -> Rewritten:
    old, new = event.data
    resumed = "resume function of " if original(old.co_name) != old.co_name else ""
    whose = f"{resumed}{original(old.co_name)} ({event.compile_id})"
    file = scrub(old.co_filename)

    def listing(which: str, code: CodeType) -> Listing:
        text = trace.stable(scrub(dis.Bytecode(code).dis()))
        title, name = f"{which} bytecode of {whose}", f"{which.lower()}-bytecode{suffix}"
        return Listing(title, name, text, "text", "bytecode", file, links=_links(text, code, file))

    return Rewritten(event.compile_id, old, listing("Original", old), listing("Rewritten", new))


def shown_instructions(text: str, code: CodeType) -> list[tuple[int, dis.Instruction]]:
    """Each printed line (from 1) with its instruction; nothing if they do not pair up."""
    lines = instruction_lines(text)
    instructions = list(dis.get_instructions(code))
    return list(zip(lines, instructions)) if len(lines) == len(instructions) else []


def instruction_lines(text: str) -> list[int]:
    """The lines (from 1) of a disassembly that are instructions: empty lines stand between lines
    of the source, and a table of exceptions may end it.
    """
    listing, _, _ = text.partition("\nExceptionTable:\n")
    return [number for number, line in enumerate(source_lines(listing), 1) if line.strip()]


def _links(text: str, code: CodeType, file: str) -> dict[int, links.Keys]:
    """Each printed instruction's Python line."""
    pairs = shown_instructions(text, code)
    lines = _source_lines([instruction for _, instruction in pairs])
    return {n: (links.python(file, line),) for (n, _), line in zip(pairs, lines) if line}


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
