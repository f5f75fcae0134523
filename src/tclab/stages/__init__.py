"""Capture what a compile goes through. The only package of tclab that imports torch."""

from __future__ import annotations

from tclab.stages._torch import check
from tclab.stages.capture import Capture, capture
from tclab.stages.graphs import graph_from_module

__all__ = ["Capture", "capture", "check", "graph_from_module"]
