"""Read the original and the rewritten bytecode of each compiled frame."""

from __future__ import annotations

import dis
from dataclasses import dataclass
from types import CodeType

from tclab.capturing.read.frames import user_function_name
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.model import Listing, links, source_lines
from tclab.text.scrub import scrub


@dataclass(frozen=True)
class FrameBytecode:
    """The bytecode of one compile, as the original listing and as Dynamo rewrote it."""

    compile_id: str
    code: CodeType  # the function's own code object
    original: Listing
    rewritten: Listing

    def instructions(self) -> list[tuple[int, dis.Instruction]]:
        """Return (line, instruction) for each line of the original listing, from line 1 on."""
        return instructions_by_line(self.original.code, self.code)


def read_bytecode(trace: Trace) -> tuple[FrameBytecode, ...]:
    """Return the bytecode of each compile, in order."""
    return tuple(
        _read_frame(event, f"-{index}" if index else "", trace)
        for index, event in enumerate(trace.select(names.BYTECODE))
    )


def _read_frame(
    event: Event[tuple[CodeType, CodeType]], suffix: str, trace: Trace
) -> FrameBytecode:
    old, new = event.data
    prefix = "resume function of " if user_function_name(old.co_name) != old.co_name else ""
    subject = f"{prefix}{user_function_name(old.co_name)} ({event.compile_id})"
    file = scrub(old.co_filename)

    def listing(kind: str, code: CodeType) -> Listing:
        text = trace.stabilize(scrub(dis.Bytecode(code).dis()))
        title, name = f"{kind} bytecode of {subject}", f"{kind.lower()}-bytecode{suffix}"
        return Listing(
            title, name, text, "text", "bytecode", file, links=_link_lines(text, code, file)
        )

    return FrameBytecode(event.compile_id, old, listing("Original", old), listing("Rewritten", new))


def instructions_by_line(text: str, code: CodeType) -> list[tuple[int, dis.Instruction]]:
    """Return (line, instruction) for each instruction in a disassembly, from line 1 on; empty if
    the text and the code have different numbers of instructions.
    """
    lines = instruction_lines(text)
    instructions = list(dis.get_instructions(code))
    return list(zip(lines, instructions)) if len(lines) == len(instructions) else []


def instruction_lines(text: str) -> list[int]:
    """Return the numbers, from 1, of the lines in a disassembly that are instructions. A
    disassembly has an empty line between two lines of source, and may end with a table of
    exceptions.
    """
    listing, _, _ = text.partition("\nExceptionTable:\n")
    return [number for number, line in enumerate(source_lines(listing), 1) if line.strip()]


def _link_lines(text: str, code: CodeType, file: str) -> dict[int, links.Keys]:
    """Map each line of a disassembly to the key of its Python line."""
    pairs = instructions_by_line(text, code)
    lines = _source_lines([instruction for _, instruction in pairs])
    return {n: (links.python_key(file, line),) for (n, _), line in zip(pairs, lines) if line}


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
