"""Find the reader's lines at which a finding shows the recompiles of a function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tclab.compare.identity import failed_guards
from tclab.findings.evidence import Evidence
from tclab.model import Recompile, SourceLine
from tclab.text.printed_stacks import read_frames
from tclab.text.user_lines import is_user_file

#: A finding names at most this number of lines.
_MOST_PLACES = 3


def find(
    evidence: Evidence, items: Sequence[Recompile], first_line: SourceLine
) -> tuple[tuple[SourceLine, ...], str]:
    """Return the lines to show for one function's recompiles, and what a finding calls the function
    at these lines. For a library's function, the lines are the user's lines inside it that use the
    changed values, or else those that called it. A tensor changes at the call.
    """
    callers = evidence.callers
    called = [callers[item.compile_id] for item in items if item.compile_id in callers]
    if not called and (caller := callers.get(f"{first_line.file}:{first_line.function}")):
        called = [caller]
    inside = list(_list_inner_lines(evidence, items, first_line, tensors=not called))
    lines = tuple(dict.fromkeys(inside or called or [first_line]))[:_MOST_PLACES]
    if lines == (first_line,):
        return lines, items[0].function
    if inside:
        return lines, f"the code around {'this line' if len(lines) == 1 else 'these lines'} is"
    return lines, "what this line calls is" if len(lines) == 1 else "what these lines call is"


def _list_inner_lines(
    evidence: Evidence, items: Sequence[Recompile], first_line: SourceLine, *, tensors: bool
) -> Iterator[SourceLine]:
    """Yield the user's innermost line in the stack of each failed guard of a library's function;
    those of guards on tensors only if `tensors`.
    """
    if first_line.file not in evidence.libraries:
        return
    for item in items:
        is_tensors = any(guard.startswith("tensor '") for guard in failed_guards(item)[:1])
        frames = read_frames("".join(item.reasons[:1])) if tensors or not is_tensors else ()
        for frame in reversed(list(frames)):
            if is_user_file(frame.file) and frame.file not in evidence.libraries:
                yield SourceLine(frame.file, frame.line, frame.code, frame.function)
                break
