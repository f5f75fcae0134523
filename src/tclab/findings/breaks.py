"""Define rules on graph breaks and skipped functions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tclab.compare import fixes
from tclab.findings.evidence import Evidence
from tclab.model import NOT_KNOWN, Break, Cost, Finding, SourceLine
from tclab.text import user_lines

#: PyTorch's number for the graph break at the recompile limit.
LIMIT = "GB0039"
#: Types of breaks at which Python reads a number that the device computes, such as the size of a
#: result. It waits for a GPU there.
_READS = re.compile(r"[Dd]ata[- ]dependent|Tensor\.item\(\)|Dynamic shape operator")
# Explanation: Dynamo failed to run FX node with fake tensors: call_function f(): got TypeError('…')
FAKE_TENSOR_ERROR = re.compile(r"with fake tensors: .*: got (\w+\(.+\))$")
#: What stands before the outcome of a trial that helped.
TRIED = "Tried:"
#: The most actions and lines in one finding.
_MOST_ACTIONS, _MOST_PLACES = 2, 3


def find_breaks(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each place and reason of a break or a skipped function. A break deep in a
    library ends the graphs of all functions on the way to the break; these breaks have one finding.
    """
    groups: dict[tuple[str, str, str], list[Break]] = defaultdict(list)
    for item in evidence.breaks:
        if item.gb_id != LIMIT:
            name = "skipped" if item.skipped else "graph-break"
            groups[name, str(item.location), item.reason].append(item)
    for (name, _, _), items in groups.items():
        read = _count_numbers(items, evidence)
        cost = Cost(read, "number read a call", "counted") if read else NOT_KNOWN
        places = _break_places(items, evidence)
        reason = break_reason(items[0], places[0] if places else None)
        reason += _name_skipped(items, evidence)
        hints = list_hints(items[0])
        if not any(map(_has_user_lines, items)):  # PyTorch's words are on its own code there
            hints = tuple(hint for hint in hints if TRIED in hint)
        yield Finding(name, reason, places, cost, hints, "breaks")


def _name_skipped(items: Sequence[Break], evidence: Evidence) -> str:
    """Return what of which functions is not compiled, as the end of a sentence; '' for a graph
    break.
    """
    frames = dict.fromkeys(_frame(item) for item in items if item.skipped and item.stack)
    compiled = {_frame(each) for each in evidence.breaks if not each.skipped and each.stack}
    names = [
        f"the rest of {frame[1]}" if frame in compiled else frame[1] for frame in frames if frame[1]
    ]
    return f"; not compiled: {', '.join(names[:_MOST_PLACES])}" if names else ""


def _frame(item: Break) -> tuple[str, str]:
    """Return file and function of the frame that was to be compiled."""
    return item.stack[0].file, item.stack[0].function


def _break_places(items: Sequence[Break], evidence: Evidence) -> tuple[SourceLine, ...]:
    """Return the reader's lines of equal breaks. A line of a library, or the first line of a
    function, is returned only if there is no other line.
    """
    lines = [line for item in items if (line := _break_line(item, evidence))]
    shown = prefer_user_lines(lines, evidence)
    return unique_lines([line for line in shown if line.code] or shown)[:_MOST_PLACES]


def prefer_user_lines(lines: Sequence[SourceLine], evidence: Evidence) -> Sequence[SourceLine]:
    """Return the lines that are in no library; if there are none, return all."""
    return [line for line in lines if line.file not in evidence.libraries] or lines


def unique_lines(lines: Iterable[SourceLine]) -> tuple[SourceLine, ...]:
    """Return each line once, with its code if one of the equal lines has it."""
    unique: dict[str, SourceLine] = {}
    for line in lines:
        if line.code or str(line) not in unique:
            unique[str(line)] = line
    return tuple(unique.values())


def _has_user_lines(item: Break) -> bool:
    """Return whether the stack has lines of the user's code, or the place is not known."""
    return not item.location or bool(select_lines(item.stack))


def _count_numbers(items: Sequence[Break], evidence: Evidence) -> int:
    """Return how many numbers a call reads from tensors at equal breaks; 0 if the breaks need no
    number. A function that calls another function with the break does not read itself. How many a
    skipped function reads is not known, because most often its break is in a loop.
    """
    asks = [item for item in items if _READS.search(item.gb_type) and not item.skipped]
    inner = sum(len(item.stack) == 1 for item in asks)
    return max(inner, 1, *(evidence.runs_at.get(str(item.location), 0) for item in asks)) * bool(
        asks
    )


def _find_caller(stack: Sequence[SourceLine], evidence: Evidence) -> SourceLine | None:
    """Return the reader's line that called the function in which a library's stack begins. The
    stack of another break may have it where that of the compile does not.
    """
    if not stack:
        return None
    known = evidence.callers.get(f"{stack[0].file}:{stack[0].function}")
    return known or next(_list_callers(stack[0], evidence), None)


def _list_callers(called: SourceLine, evidence: Evidence) -> Iterator[SourceLine]:
    """Yield the reader's innermost lines above this function in the stacks of all breaks."""
    for item in evidence.breaks:
        functions = [(line.file, line.function) for line in item.stack]
        if (called.file, called.function) in functions:
            above = item.stack[: functions.index((called.file, called.function))]
            own = [line for line in select_lines(above) if line.file not in evidence.libraries]
            yield from own[-1:]


def list_hints(item: Break) -> tuple[str, ...]:
    """Return PyTorch's usable hints, each in one line."""
    return tuple(" ".join(hint.split()) for hint in fixes.usable_hints(item)[:_MOST_ACTIONS])


def _break_line(item: Break, evidence: Evidence) -> SourceLine | None:
    """Return the reader's innermost line of a break; if there is none, the line that called the
    library, or else the library's own line, or that of the break itself in PyTorch's code.
    """
    lines = select_lines(item.stack)
    own = [line for line in lines if line.file not in evidence.libraries]
    known = [*own[-1:], _find_caller(item.stack, evidence), *lines[-1:], item.location]
    return next(filter(None, known), None)


def select_lines(stack: Sequence[SourceLine]) -> list[SourceLine]:
    """Return the reader's lines of a stack, outermost first."""
    return user_lines.select_user_lines(stack, lambda line: line.file)


def break_reason(item: Break, place: SourceLine | None = None) -> str:
    """Return the reason of a break with PyTorch's number, with the error that an operator raised on
    fake tensors, and with the break's line if that is not `place`.
    """
    raised = FAKE_TENSOR_ERROR.search(item.explanation)
    error = f": {raised[1]}" if raised else ""
    number = f" [{item.gb_id}]" if item.gb_id else ""
    inner = f", in {item.location}" if place and item.location and place != item.location else ""
    return f"{item.reason}{number}{error}{inner}"


RULES = (find_breaks,)
