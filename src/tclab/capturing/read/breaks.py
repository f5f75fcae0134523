"""Read the distinct graph breaks from the reasons that Dynamo writes to the structured trace.

Dynamo writes a reason for each compile that meets a break. So the same break appears again if a
frame is recompiled, or if Dynamo fails to inline a function and then compiles it alone. The reader
counts such a break once. A whole frame that Dynamo skips is one break with `skipped`; its graph
never ran, and is not counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tclab.capturing.read.frames import (
    Frame,
    failed_compiles,
    frames_by_compile,
    printed_stack,
)
from tclab.capturing.read.runs import runs_in_first_call
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.model import Break, Breaks, SourceLine
from tclab.text import user_lines
from tclab.text.scrub import scrub

_FIELD = r"(.*?)(?=^  Hint: |^  Developer debug context:|\Z)"
#   Explanation: Dynamo does not know how to trace builtin operator `print` with argument types
_EXPLANATION = re.compile(rf"^  Explanation: {_FIELD}", re.DOTALL | re.MULTILINE)
#   Hint: Remove the `torch.compiler.disable` call
_HINT = re.compile(rf"^  Hint: {_FIELD}", re.DOTALL | re.MULTILINE)
#  https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html
_GB_ID = re.compile(r"/gb/gb(\d+)\.html")
# Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call
_REASON = re.compile(r"^Graph Break Reason: ")
_SECOND_BREAK = "*** While handling this graph break, another graph break occurred: ***"
_STACK = "User code traceback:"
_SKIP_PHRASES = ("Skipping the function and falling back to eager", "which results in a skip")
_REST_SKIPPED_PHRASE = "then skipping the rest of the function"
#: Lines around the line that names the kind of break. The last is written below that line, for a
#: break in an operator that takes functions.
_AROUND_KIND = (
    "Encountered graph break", "Failed to handle graph break gracefully", "Graph break in user",
    "Higher Order Operator: ",
)  # fmt: skip
# WON'T CONVERT placed /reader/functions.py line 2, with the traceback of a compile that failed
_FAILED_COMPILE = "WON'T CONVERT "
# backend='inductor' raised:
# RuntimeError: no kernel for this
_BACKEND_ERROR = re.compile(r"backend='.*' raised:\s+(?P<error>.+)")
#     Original traceback:
#       File "/reader/functions.py", line 18, in forward
_OF_OPERATOR = re.compile(r"^ *Original traceback:\n(?P<stack>(?:.+\n)+)", re.MULTILINE)


def read_breaks(trace: Trace) -> Breaks:
    """Return all graph breaks, and the number of graphs without those of recompiles."""
    frames = frames_by_compile(trace)
    failed = failed_compiles(trace)
    reasons = _list_reasons(trace)
    last = {event.compile_id: _kind(event) for event in reasons}  # of a compile's attempts
    distinct: list[tuple[str, Break]] = []  # the frame's number, the break
    for event in reasons:
        has_failed = event.compile_id in failed and _kind(event) == last[event.compile_id]
        new = event.frame, _read_break(event, frames.get(event.compile_id), has_failed)
        if not any(_is_repeat(new, old) for old in distinct):
            distinct.append(new)
    announced = [break_ for _, break_ in distinct]
    compiled = (e for e in trace.select("dynamo_output_graph") if e.compile_id not in failed)
    graphs = len({e.frame for e in compiled})
    all_breaks = (*announced, *_breaks_without_reason(trace, frames, failed))
    return Breaks("Graph breaks", "breaks", all_breaks, graphs)


def _kind(event: Event[object]) -> str:
    """Return the kind of break of an event. The last kind of a failed compile skips the frame."""
    return _headline(event.payload.partition(_STACK)[0])


def runs_at_breaks(trace: Trace) -> dict[str, int]:
    """Map the line of each break, ``file:line``, to the number of times that graphs ending at this
    line ran in the first call. A break in a function that Dynamo inlines first ends the graph of
    the caller, and this graph does not reach the line of the break.
    """
    runs, frames = runs_in_first_call(trace) or {}, frames_by_compile(trace)
    counts: Counter[str] = Counter()
    for event in _list_reasons(trace):
        stack = _read_break(event, frames.get(event.compile_id), has_failed=False).stack
        if len(stack) == 1:
            counts[str(stack[0])] += runs.get(event.compile_id, 0)
    return dict(counts)


def _list_reasons(trace: Trace) -> list[Event[object]]:
    """Return the events with the reason of a break. Tracebacks of failed compiles are left out. The
    breaks of a compile that an error ended are left out, too, because the metrics have that error.
    """
    ended = {e.compile_id for e in trace.select(names.METRICS) if _ended_by_error(e.data)}
    events = trace.select("dynamo_graph_break_reason")
    return [
        e for e in events if e.compile_id not in ended and not e.payload.startswith(_FAILED_COMPILE)
    ]


def _ended_by_error(data: names.CompileMetrics) -> bool:
    """Return whether the compile ended by an error other than a graph break that skips the
    frame.
    """
    return data.get("fail_type") not in (None, "", "Unsupported")


def _read_break(event: Event[object], frame: Frame | None, has_failed: bool) -> Break:
    message, _, rest = event.payload.partition(_STACK)
    stack = printed_stack(rest.split("\nTraceback (most recent call last)")[0])
    skipped = has_failed or any(phrase in message for phrase in _SKIP_PHRASES)
    return _break_from_message(message, _stack_of_break(message, stack, frame), skipped)


def _stack_of_break(
    message: str, stack: tuple[SourceLine, ...], frame: Frame | None
) -> tuple[SourceLine, ...]:
    """Return the lines of a break's stack from the compiled frame inwards. If the backend failed on
    an operator, return the operator's lines. PyTorch's stack may lack the compiled frame. Then
    return the frame's first line, and the line of the break with which the message begins.
    """
    if operator := _OF_OPERATOR.search(message):
        return printed_stack(operator["stack"])
    if frame is None:
        return tuple(user_lines.drop_callers(stack, lambda line: line.file))
    file = scrub(frame.file)
    matching = [i for i, s in enumerate(stack) if (s.file, s.function) == (file, frame.function)]
    if matching:
        return stack[matching[-1] :]
    is_inner = bool(stack) and scrub(message.partition("\n")[0]).endswith(f" {stack[-1]}")
    return (frame.location, *stack[-1:]) if is_inner else (frame.location,)


def _is_repeat(new: tuple[str, Break], old: tuple[str, Break]) -> bool:
    """Return whether a break repeats an older one, by their stacks, which start at the compiled
    frame.
    """
    (new_frame, new_break), (old_frame, old_break) = new, old
    if (new_break.gb_type, new_break.skipped) != (old_break.gb_type, old_break.skipped):
        return False
    if new_frame == old_frame:  # a recompile
        return (new_break.reason, new_break.stack) == (old_break.reason, old_break.stack)
    # the function that Dynamo failed to inline, now compiled on its own
    inner = old_break.stack[1:]
    return bool(new_break.stack) and inner[-len(new_break.stack) :] == new_break.stack


def _break_from_message(message: str, stack: tuple[SourceLine, ...], skipped: bool) -> Break:
    first, _, second = message.partition(_SECOND_BREAK)
    fields = _parse_fields(first)
    reason = fields["gb_type"]
    if skipped and second:
        reason += f"; frame skipped: {_parse_fields(second)['gb_type']}"
    elif not skipped and _REST_SKIPPED_PHRASE in first:
        reason += "; the rest of the function is not compiled"
    return Break(
        reason=scrub(reason),
        gb_id=fields["gb_id"],
        gb_type=scrub(fields["gb_type"]),
        explanation=scrub(fields["explanation"]),
        hints=tuple(scrub(h) for h in _parse_hints(first)),
        location=stack[-1] if stack else None,
        stack=stack,
        skipped=skipped,
    )


def _parse_fields(message: str) -> dict[str, str]:
    gb_id = _GB_ID.search(message)
    explanation = _EXPLANATION.search(message)
    return {
        "gb_id": f"GB{gb_id[1]}" if gb_id else "",
        "gb_type": _headline(message),
        "explanation": _dedent(explanation[1]) if explanation else "",
    }


def _headline(message: str) -> str:
    """Return the line of the message that names the kind of break, the last one before the
    explanation.
    """
    if raised := _BACKEND_ERROR.match(message):
        return f"the compile failed: {raised['error']}"
    head = message.split("\n  Explanation: ")[0]
    lines = [line.strip() for line in head.splitlines() if line.strip()]
    lines = [_REASON.sub("", line) for line in lines]
    headlines = [line for line in lines if line.strip("=") and not line.startswith(_AROUND_KIND)]
    return headlines[-1] if headlines else (lines[-1] if lines else "")


def _parse_hints(message: str) -> list[str]:
    return [_dedent(hint) for hint in _HINT.findall(message)]


def _dedent(text: str) -> str:
    return "\n".join(line.removeprefix("    ").rstrip() for line in text.splitlines()).strip()


def _breaks_without_reason(
    trace: Trace, frames: dict[str, Frame], failed_ids: set[str]
) -> Iterator[Break]:
    """Yield a break for each skipped frame whose reason is in Dynamo's metrics only."""
    announced = {e.compile_id for e in _list_reasons(trace)}
    for event in trace.select(names.METRICS):
        if event.compile_id in failed_ids - announced:
            frame = frames.get(event.compile_id)
            stack = (frame.location,) if frame else ()
            message = event.data.get("fail_reason") or ""
            yield _break_from_message(message, _stack_of_break(message, stack, frame), skipped=True)
