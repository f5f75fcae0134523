"""Which of the user's lines a refusal is about, as ``file:line (code)``."""

from __future__ import annotations

import os
import traceback

import torch
from torch import fx

from tclab.scrub import scrub

_TORCH = os.path.dirname(torch.__file__) + os.sep


def of_node(node: fx.Node) -> str:
    """The line a node came from."""
    trace = [t for t in (node.meta.get("stack_trace") or "").splitlines() if t.strip()]
    for number in range(len(trace) - 1, -1, -1):
        place = trace[number].strip()
        if place.startswith("File "):
            path, line = place.split('"')[1], place.split("line ")[1].split(",")[0]
            return _place(path, line, trace[number + 1] if number + 1 < len(trace) else "")
    return "line unknown"


def being_traced() -> str:
    """The line Dynamo is at: the innermost outside of PyTorch, else the innermost."""
    from torch._guards import TracingContext

    frames = list(TracingContext.extract_stack())
    own = [frame for frame in frames if not frame.filename.startswith(_TORCH)]
    for frame in (own or frames)[-1:]:
        return _of_frame(frame)
    return "line unknown"


def _of_frame(frame: traceback.FrameSummary) -> str:
    return _place(frame.filename, str(frame.lineno), frame.line or "")


def _place(path: str, line: str, code: str) -> str:
    return f"{scrub(path)}:{line}" + (f" ({code.strip()})" if code.strip() else "")
