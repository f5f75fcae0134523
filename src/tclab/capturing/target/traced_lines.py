"""Find the user's line that a refusal names, as ``file:line (code)``."""

from __future__ import annotations

from collections.abc import Sequence

from torch import fx
from torch.fx import traceback as fx_traceback

from tclab.capturing.read.frames import printed_stack
from tclab.model import SourceLine
from tclab.text import user_lines
from tclab.text.scrub import scrub

_UNKNOWN_LINE = "line unknown"


def find_line_of_node(node: fx.Node) -> str:
    """Return the innermost of the user's lines in the stack trace of an FX node."""
    return _innermost_line(printed_stack(node.meta.get("stack_trace") or ""))


def find_traced_line() -> str:
    """Return the innermost of the user's lines that Dynamo or AOTAutograd is tracing."""
    meta = fx_traceback.get_current_meta() or {}
    return _innermost_line(_dynamo_stack() or printed_stack(meta.get("stack_trace") or ""))


def _innermost_line(stack: Sequence[SourceLine]) -> str:
    """Return the innermost line in the user's code, or the innermost line of all if there is
    none.
    """
    lines = user_lines.select_user_lines_or_all(stack, lambda line: line.file)
    return next(map(_add_code, reversed(lines)), _UNKNOWN_LINE)


def _dynamo_stack() -> tuple[SourceLine, ...]:
    """Return the stack of the user's program while Dynamo traces it; empty after Dynamo is done."""
    from torch._guards import TracingContext

    frames = TracingContext.extract_stack()
    return tuple(SourceLine(scrub(f.filename), f.lineno or 0, f.line or "") for f in frames)


def _add_code(line: SourceLine) -> str:
    code = line.code.strip()
    return f"{line} ({code})" if code else str(line)
