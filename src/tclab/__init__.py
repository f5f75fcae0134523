"""tclab, the torch.compile lab: run code, keep every stage of its compile, show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tclab.system import imports

if TYPE_CHECKING:
    from tclab.capturing import Capture, capture, levels, memory, replay, steps
    from tclab.display import show
    from tclab.explain.measure.here import measure
    from tclab.model import Chart, Diff, Graph, Kernel, Listing, Table, Text

__all__ = [
    "Capture",
    "Chart",
    "Diff",
    "Graph",
    "Kernel",
    "Listing",
    "Table",
    "Text",
    "capture",
    "levels",
    "measure",
    "memory",
    "replay",
    "show",
    "steps",
]
__version__ = "0.2.0"

imports.report_at_exit()

# Names that are imported on first use, because a capture needs torch. The site generator must not
# import torch, and a command that shows its version needs nothing.
_CAPTURING = ("Capture", "capture", "levels", "memory", "replay", "steps")
_ARTIFACTS = ("Chart", "Diff", "Graph", "Kernel", "Listing", "Table", "Text")
_LAZY = {
    "show": "tclab.display",
    "measure": "tclab.explain.measure.here",
    **dict.fromkeys(_CAPTURING, "tclab.capturing"),
    **dict.fromkeys(_ARTIFACTS, "tclab.model"),
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List only the names for users, so that a notebook completes ``tclab.`` with them."""
    return [*__all__, "__version__"]
