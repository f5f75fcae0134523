"""Read Dynamo's symbolic execution from its instruction log."""

from __future__ import annotations

import linecache
import opcode
import re
from collections.abc import Iterator, Sequence

from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.notes import StepNote
from tclab.model import Instruction, SourceLine, Steps
from tclab.text.scrub import scrub

# TRACE BINARY_OP 0 [TensorVariable(), ConstantVariable(int: 1)]
_STEP = re.compile(
    r"^TRACE (?P<name>[A-Z][A-Z0-9_]*) (?P<argument>.*?) ?\[(?P<stack>.*)\]$", re.DOTALL
)
_OPENING, _CLOSING = "([{<", ")]}>"


def read_steps(trace: Trace) -> Steps:
    """Return each instruction that Dynamo executed, in order."""
    notes = [event.data for event in trace.select(names.STEP)]
    added = list(_added_nodes(notes))
    instructions = (
        _read_instruction(note, nodes) for note, nodes in zip(notes, added, strict=True)
    )
    executed = tuple(step for step in instructions if step is not None)
    return Steps("Dynamo, instruction by instruction", "steps", executed)


def _added_nodes(notes: Sequence[StepNote]) -> Iterator[tuple[str, ...]]:
    """Yield the nodes that each instruction added: the nodes that the next note has and this one
    lacks.
    """
    for note, next_note in zip(notes, [*notes[1:], None]):
        added = next_note.nodes[len(note.nodes) :] if next_note is not None else ()
        yield added


def _read_instruction(note: StepNote, nodes: tuple[str, ...]) -> Instruction | None:
    match = _STEP.match(note.text)
    if match is None or match["name"] in ("RESUME", "NOP", "CACHE"):
        return None
    argument = _readable_argument(match["name"], match["argument"])
    stack = tuple(scrub(value) for value in split_stack(match["stack"]))
    return Instruction(match["name"], argument, stack, nodes, _source_line(note))


def _readable_argument(name: str, argument: str) -> str:
    """Make an instruction's argument readable: the 5 of ``BINARY_OP 5`` becomes the operator's
    sign, if this Python has a table of the signs.
    """
    operators = getattr(opcode, "_nb_ops", ())  # (name, sign) pairs, from Python 3.11 on
    if name == "BINARY_OP" and argument.isdigit() and int(argument) < len(operators):
        return str(operators[int(argument)][1])
    return "" if argument == "None" else scrub(argument)


def split_stack(stack: str) -> Iterator[str]:
    """Yield the values of a printed stack, bottom first, split at commas outside of brackets."""
    depth, begin = 0, 0
    for index, character in enumerate(stack):
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth == 0:
            yield stack[begin:index].strip()
            begin = index + 1
    if stack[begin:].strip():
        yield stack[begin:].strip()


def _source_line(note: StepNote) -> SourceLine:
    code = linecache.getline(note.file, note.line).strip()
    return SourceLine(scrub(note.file), note.line, code, note.function)
