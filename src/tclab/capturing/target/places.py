"""Which of the user's lines a refusal is about, as ``file:line (code)``."""

from __future__ import annotations

from torch import fx

from tclab import user_lines
from tclab.capturing.read.frames import printed_stack
from tclab.model import SourceLine
from tclab.scrub import scrub

_UNKNOWN = "line unknown"


def of_node(node: fx.Node) -> str:
    """The line a node came from."""
    stack = printed_stack(node.meta.get("stack_trace") or "")
    return _text(stack[-1]) if stack else _UNKNOWN


def being_traced() -> str:
    """The line Dynamo is at: the innermost of the user's, else the innermost."""
    from torch._guards import TracingContext

    frames = TracingContext.extract_stack()
    for frame in user_lines.users_or_all(frames, lambda frame: frame.filename)[-1:]:
        return _text(SourceLine(scrub(frame.filename), frame.lineno or 0, frame.line or ""))
    return _UNKNOWN


def _text(line: SourceLine) -> str:
    code = line.code.strip()
    return f"{line} ({code})" if code else str(line)
