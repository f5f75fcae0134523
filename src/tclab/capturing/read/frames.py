"""Read the frame of each compile, and the stacks that PyTorch traces or prints."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.names import TracedFrame
from tclab.model import SourceLine
from tclab.text.printed_stacks import read_frames
from tclab.text.scrub import scrub
from tclab.text.user_lines import drop_callers, is_library_file, is_user_file

# torch_dynamo_resume_in_prints_at_47
_RESUME = re.compile(r"^torch_dynamo_resume_in_(?P<function>.+?)_at_(?P<line>\d+)$")


@dataclass(frozen=True)
class Frame:
    """A frame that Dynamo compiled: a function, or the rest of one after a graph break."""

    function: str  # as the user wrote it
    file: str  # the file name that PyTorch uses, not scrubbed
    line: int

    @property
    def location(self) -> SourceLine:
        return SourceLine(scrub(self.file), self.line, "", self.function)


def frames_by_compile(trace: Trace) -> dict[str, Frame]:
    """Map each compile id to the frame that was compiled. A compile without a start event, as at
    the recompile limit, gets the frame of the first compile of the same code.
    """
    frames: dict[str, Frame] = {}
    for event in trace.select(names.START):
        if event.data["stack"]:
            top = event.data["stack"][-1]
            function = user_function_name(top["name"])
            frames[event.compile_id] = Frame(function, top["filename"], top["line"])
    for ended in trace.select(names.METRICS):
        if ended.compile_id not in frames and (first := frames.get(f"{ended.frame}/0")):
            frames[ended.compile_id] = first
    return frames


def files_by_short_name(trace: Trace) -> dict[str, str]:
    """Map the shortened file names in PyTorch's guards to the full names."""
    return {
        short: file for event in trace.select(names.FILES) for short, file in event.data.items()
    }


def library_files(trace: Trace) -> frozenset[str]:
    """Return the scrubbed names of the files of installed packages and of Python's library."""
    files = files_by_short_name(trace).values()
    return frozenset(scrub(file) for file in files if is_library_file(file))


def library_callers(trace: Trace) -> dict[str, SourceLine]:
    """Map each function of a library that was compiled, ``file:function``, and each of its
    compiles, by id, to the line of the reader's own code that led to it. A frame that a resume
    function has taken over stays in the stack at the line of its break, although this line called
    nothing. So functions below such a frame are left out.
    """
    callers: dict[str, SourceLine] = {}
    resumed: dict[tuple[str, str], int] = defaultdict(int)  # function → the last line of its breaks
    for event in trace.select(names.START):
        stack = event.data["stack"]
        last = stack[-1] if stack else {"filename": "", "line": 0, "name": ""}
        if match := _RESUME.match(last["name"]):
            function = last["filename"], match["function"]
            resumed[function] = max(resumed[function], int(match["line"]))
        called = drop_callers(stack, lambda frame: frame["filename"])
        own = [frame for frame in called if _is_own_file(frame["filename"])]
        if own and is_library_file(last["filename"]):
            caller, name = own[-1], user_function_name(own[-1]["name"])
            if caller["line"] > resumed[caller["filename"], name]:
                frame, line = _traced_line(last), _traced_line(caller)
                callers.setdefault(f"{frame.file}:{frame.function}", line)
                callers[event.compile_id] = line
    return callers


def _is_own_file(file: str) -> bool:
    return is_user_file(file) and not is_library_file(file)


def failed_compiles(trace: Trace) -> set[str]:
    """Return the ids of the compiles that failed. PyTorch runs such a frame eagerly."""
    return {e.compile_id for e in trace.select(names.METRICS) if e.data.get("fail_type")}


def cuda_graph_skips(trace: Trace) -> tuple[str, ...]:
    """Return each reason why Inductor records no CUDA graph for a compile that asked for one."""
    reasons = (e.data.get("cudagraph_skip_reason") for e in trace.select(names.METRICS))
    return tuple(scrub(reason) for reason in reasons if reason)


def user_function_name(name: str) -> str:
    """Return the name of the user's function behind a resume function; return other names
    unchanged.
    """
    match = _RESUME.match(name)
    return match["function"] if match else name


def traced_stack(stack: Iterable[TracedFrame]) -> tuple[SourceLine, ...]:
    """Convert a stack of the structured trace to source lines."""
    return tuple(map(_traced_line, stack))


def _traced_line(frame: TracedFrame) -> SourceLine:
    file, code = scrub(frame["filename"]), scrub(frame.get("loc") or "")
    return SourceLine(file, frame["line"], code, user_function_name(frame["name"]))


def printed_stack(text: str) -> tuple[SourceLine, ...]:
    """Convert a printed traceback to source lines, outermost first."""
    return tuple(
        SourceLine(scrub(f.file), f.line, scrub(f.code), user_function_name(f.function))
        for f in read_frames(text)
    )


def printed_locations(text: str) -> list[tuple[str, int]]:
    """Return (file, line) for each entry of a printed traceback, outermost first; not scrubbed."""
    return [(frame.file, frame.line) for frame in read_frames(text)]
