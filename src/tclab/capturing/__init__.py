"""Capture every stage of a compile. The names of this package import torch on first use. The
packages `trace` and `read` need no torch, so that the trace of another machine can be read.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tclab.capturing.observe import levels, memory, replay, steps
    from tclab.capturing.read.graphs import graph_from_module
    from tclab.capturing.request import capture
    from tclab.capturing.result import Capture
    from tclab.capturing.torch_private.check import check

__all__ = [
    "Capture",
    "capture",
    "check",
    "graph_from_module",
    "levels",
    "memory",
    "replay",
    "steps",
]

_MODULES = {
    "Capture": "result",
    "capture": "request",
    "check": "torch_private.check",
    "graph_from_module": "read.graphs",
    **dict.fromkeys(("levels", "memory", "replay", "steps"), "observe"),
}


def __getattr__(name: str) -> Any:
    if module := _MODULES.get(name):
        return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
