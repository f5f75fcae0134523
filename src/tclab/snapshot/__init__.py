"""Two compiles compared: by what they were, not by how they happen to be written down."""

from __future__ import annotations

from tclab.snapshot.compare import (
    DIFFERS,
    REWRITTEN,
    Change,
    Comparison,
    KernelPair,
    compare,
)
from tclab.snapshot.take import take

__all__ = ["DIFFERS", "REWRITTEN", "Change", "Comparison", "KernelPair", "compare", "take"]
