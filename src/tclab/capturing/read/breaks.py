"""True graph breaks, from the reasons Dynamo writes to the structured trace.

Dynamo writes a reason once for each compile that met the break, so a break shows up again
when a frame is recompiled, and when a function that was being inlined is then compiled on its
own. Both are one break. A frame that Dynamo gave up as a whole is one break with `skipped`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tclab.capturing.read.frames import Frame, frames, printed_stack
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.model import Break, Breaks, SourceLine
from tclab.scrub import scrub

_FIELD = r"(.*?)(?=^  Hint: |^  Developer debug context:|\Z)"
#   Explanation: Dynamo does not know how to trace builtin operator `print` with argument types
_EXPLANATION = re.compile(rf"^  Explanation: {_FIELD}", re.DOTALL | re.MULTILINE)
#   Hint: Remove the `torch.compiler.disable` call
_HINT = re.compile(rf"^  Hint: {_FIELD}", re.DOTALL | re.MULTILINE)
#  https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html
_GB = re.compile(r"/gb/gb(\d+)\.html")
# Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call
_REASON = re.compile(r"^Graph Break Reason: ")
_ANOTHER = "*** While handling this graph break, another graph break occurred: ***"
_STACK = "User code traceback:"
_SKIPS = ("Skipping the function and falling back to eager", "which results in a skip")
_REST = "then skipping the rest of the function"
_PREAMBLE = ("Encountered graph break", "Failed to handle graph break gracefully")


def breaks(trace: Trace) -> Breaks:
    """All graph breaks, and the number of graphs of distinct code (recompiles not counted)."""
    of = frames(trace)
    lost = _lost(trace)
    distinct: list[tuple[str, Break]] = []  # the frame's number, the break
    for event in trace.named("dynamo_graph_break_reason"):
        new = event.frame, _read(event, of.get(event.compile_id), event.compile_id in lost)
        if not any(_same(new, old) for old in distinct):
            distinct.append(new)
    announced = [one for _, one in distinct]
    graphs = len({e.frame for e in trace.named("dynamo_output_graph")})
    several = (*announced, *_unannounced(trace, of, lost))
    return Breaks("Graph breaks", "breaks", several, graphs)


def _read(event: Event[object], frame: Frame | None, lost: bool) -> Break:
    message, _, rest = event.payload.partition(_STACK)
    stack = printed_stack(rest.split("\nTraceback (most recent call last)")[0])
    skipped = lost or any(mark in message for mark in _SKIPS)
    return _break(message, stack[_depth(stack, frame) :], skipped)


def _depth(stack: tuple[SourceLine, ...], frame: Frame | None) -> int:
    """Where the compiled frame stands in a stack that starts at the program's first line."""
    if frame is None:
        return 0
    file = scrub(frame.file)
    own = [i for i, s in enumerate(stack) if (s.file, s.function) == (file, frame.function)]
    return own[-1] if own else 0


def _same(new: tuple[str, Break], old: tuple[str, Break]) -> bool:
    """Whether a reason repeats an older one. Stacks start at the frame that was compiled."""
    (frame, after), (other, before) = new, old
    if (after.gb_type, after.skipped) != (before.gb_type, before.skipped):
        return False
    if frame == other:  # a recompile
        return (after.reason, after.stack) == (before.reason, before.stack)
    # the function that was being inlined, now compiled on its own
    inner = before.stack[1:]
    return bool(after.stack) and inner[-len(after.stack) :] == after.stack


def _break(message: str, stack: tuple[SourceLine, ...], skipped: bool) -> Break:
    first, _, second = message.partition(_ANOTHER)
    fields = _fields(first)
    reason = fields["gb_type"]
    if skipped and second:
        reason += f"; frame skipped: {_fields(second)['gb_type']}"
    elif _REST in first:
        reason += "; the rest of the function is not compiled"
    return Break(
        reason=scrub(reason),
        gb_id=fields["gb_id"],
        gb_type=scrub(fields["gb_type"]),
        explanation=scrub(fields["explanation"]),
        hints=tuple(scrub(h) for h in _hints(first)),
        location=stack[-1] if stack else None,
        stack=stack,
        skipped=skipped,
    )


def _fields(message: str) -> dict[str, str]:
    gb = _GB.search(message)
    explanation = _EXPLANATION.search(message)
    return {
        "gb_id": f"GB{gb[1]}" if gb else "",
        "gb_type": _headline(message),
        "explanation": _dedent(explanation[1]) if explanation else "",
    }


def _headline(message: str) -> str:
    """The line that names the kind of break: the last one before its explanation."""
    head = message.split("\n  Explanation: ")[0]
    lines = [line.strip() for line in head.splitlines() if line.strip()]
    lines = [_REASON.sub("", line) for line in lines]
    named = [line for line in lines if not line.startswith((*_PREAMBLE, "Graph break in user"))]
    return named[-1] if named else (lines[-1] if lines else "")


def _hints(message: str) -> list[str]:
    return [_dedent(hint) for hint in _HINT.findall(message)]


def _dedent(text: str) -> str:
    return "\n".join(line.removeprefix("    ").rstrip() for line in text.splitlines()).strip()


def _lost(trace: Trace) -> set[str]:
    """Compiles that ended without compiled code: the frame runs eagerly."""
    return {e.compile_id for e in trace.named(names.METRICS) if e.data.get("fail_type")}


def _unannounced(trace: Trace, of: dict[str, Frame], lost: set[str]) -> Iterator[Break]:
    """Frames given up for which Dynamo wrote no reason but in its metrics."""
    announced = {e.compile_id for e in trace.named("dynamo_graph_break_reason")}
    for event in trace.named(names.METRICS):
        if event.compile_id in lost - announced:
            frame = of.get(event.compile_id)
            stack = (frame.location,) if frame else ()
            yield _break(event.data.get("fail_reason") or "", stack, skipped=True)
