"""Which code each compile was of, and the lines of PyTorch's stacks, traced or printed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tclab.capturing.torch_private import compiler
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.names import TracedFrame
from tclab.model import SourceLine
from tclab.scrub import scrub

# torch_dynamo_resume_in_prints_at_47
_RESUME = re.compile(r"^torch_dynamo_resume_in_(?P<function>.+?)_at_\d+$")
#   File "/reader/functions.py", line 59, in calls
_ENTRY = re.compile(r'^  File "(?P<file>.+?)", line (?P<line>\d+), in (?P<function>.+)$')


@dataclass(frozen=True)
class Frame:
    """A piece of code Dynamo compiled: a function, or the rest of one after a graph break."""

    function: str  # as the user wrote it
    file: str  # as PyTorch names it, not scrubbed
    line: int

    @property
    def location(self) -> SourceLine:
        return SourceLine(scrub(self.file), self.line, "", self.function)


def frames(trace: Trace) -> dict[str, Frame]:
    """compile_id → the frame it was a compile of."""
    of: dict[str, Frame] = {}
    for event in trace.named(names.START):
        if event.data["stack"]:
            top = event.data["stack"][-1]
            file = compiler.file_of(top["filename"])
            of[event.compile_id] = Frame(original(top["name"]), file, top["line"])
    return of


def original(name: str) -> str:
    """The user's function behind a resume function's name."""
    match = _RESUME.match(name)
    return match["function"] if match else name


def traced_stack(stack: Iterable[TracedFrame]) -> tuple[SourceLine, ...]:
    """A stack of the structured trace as source lines."""
    return tuple(map(_traced_line, stack))


def _traced_line(frame: TracedFrame) -> SourceLine:
    file, code = compiler.file_of(frame["filename"]), frame.get("loc") or ""
    return SourceLine(scrub(file), frame["line"], scrub(code), original(frame["name"]))


def printed_stack(text: str) -> tuple[SourceLine, ...]:
    """A printed traceback as source lines, outermost first."""
    entries: list[SourceLine] = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if match := _ENTRY.match(line):
            code = lines[number + 1].strip() if number + 1 < len(lines) else ""
            code = "" if _ENTRY.match(lines[number + 1] if code else "") else code
            file, function = scrub(match["file"]), original(match["function"])
            entries.append(SourceLine(file, int(match["line"]), scrub(code), function))
    return tuple(entries)


def printed_places(text: str) -> list[tuple[str, int]]:
    """Files, not scrubbed, and lines of a printed traceback, outermost first."""
    matches = (_ENTRY.match(line) for line in text.splitlines())
    return [(match["file"], int(match["line"])) for match in matches if match]
