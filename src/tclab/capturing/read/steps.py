"""Dynamo's symbolic execution, from the log of its instructions."""

from __future__ import annotations

import linecache
import opcode
import re
from collections.abc import Iterator, Sequence

from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.notes import StepNote
from tclab.model import Instruction, SourceLine, Steps
from tclab.scrub import scrub

# TRACE BINARY_OP 0 [TensorVariable(), ConstantVariable(int: 1)]
_STEP = re.compile(
    r"^TRACE (?P<name>[A-Z][A-Z0-9_]*) (?P<argument>.*?) ?\[(?P<stack>.*)\]$", re.DOTALL
)
_OPENING, _CLOSING = "([{<", ")]}>"


def steps(trace: Trace) -> Steps:
    """Every instruction that was executed in the last attempt at each frame, in order."""
    notes = [event.data for event in trace.named(names.STEP)]
    added = list(_added(notes))
    read = (_step(note, nodes) for note, nodes in zip(notes, added, strict=True))
    executed = tuple(step for step in read if step is not None)
    return Steps("Dynamo, instruction by instruction", "steps", executed)


def _added(notes: Sequence[StepNote]) -> Iterator[tuple[str, ...]]:
    """The nodes that each instruction added: those there at the next one, and not yet at it."""
    for note, after in zip(notes, [*notes[1:], None]):
        added = after.nodes[len(note.nodes) :] if after is not None else ()
        yield added


def _step(note: StepNote, nodes: tuple[str, ...]) -> Instruction | None:
    match = _STEP.match(note.text)
    if match is None or match["name"] in ("RESUME", "NOP", "CACHE"):
        return None
    argument = _argument(match["name"], match["argument"])
    stack = tuple(scrub(value) for value in values(match["stack"]))
    return Instruction(match["name"], argument, stack, nodes, _place(note))


def _argument(name: str, argument: str) -> str:
    """As a reader would say it: of ``BINARY_OP 5`` the operator, where Python knows it."""
    operators = getattr(opcode, "_nb_ops", ())  # from Python 3.11 on, (name, sign) each
    if name == "BINARY_OP" and argument.isdigit() and int(argument) < len(operators):
        return str(operators[int(argument)][1])
    return "" if argument == "None" else scrub(argument)


def values(stack: str) -> Iterator[str]:
    """The values of a printed stack, from its bottom to its top: split at its own commas only."""
    depth, begin = 0, 0
    for at, character in enumerate(stack):
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth == 0:
            yield stack[begin:at].strip()
            begin = at + 1
    if stack[begin:].strip():
        yield stack[begin:].strip()


def _place(note: StepNote) -> SourceLine:
    code = linecache.getline(note.file, note.line).strip()
    return SourceLine(scrub(note.file), note.line, code, note.function)
