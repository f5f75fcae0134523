"""Capture every stage of a compile. Importing this package imports torch."""

from __future__ import annotations

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
