"""Which of the user's lines a refusal is about, as ``file:line (code)``."""

from __future__ import annotations

from collections.abc import Sequence

from torch import fx
from torch.fx import traceback as fx_traceback

from tclab import user_lines
from tclab.capturing.read.frames import printed_stack
from tclab.model import SourceLine
from tclab.scrub import scrub

_UNKNOWN = "line unknown"


def of_node(node: fx.Node) -> str:
    """The line a node came from."""
    return _innermost(printed_stack(node.meta.get("stack_trace") or ""))


def being_traced() -> str:
    """The line that is being traced."""
    meta = fx_traceback.get_current_meta() or {}
    return _innermost(_dynamos() or printed_stack(meta.get("stack_trace") or ""))


def _innermost(stack: Sequence[SourceLine]) -> str:
    """The innermost line of the user's, else the innermost."""
    lines = user_lines.users_or_all(stack, lambda line: line.file)
    return next(map(_text, reversed(lines)), _UNKNOWN)


def _dynamos() -> tuple[SourceLine, ...]:
    """The stack of the user's program while Dynamo goes through it; empty afterwards."""
    from torch._guards import TracingContext

    frames = TracingContext.extract_stack()
    return tuple(SourceLine(scrub(f.filename), f.lineno or 0, f.line or "") for f in frames)


def _text(line: SourceLine) -> str:
    code = line.code.strip()
    return f"{line} ({code})" if code else str(line)
