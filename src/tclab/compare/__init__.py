"""Compare two compiles, and say what their differences mean.

A compile is a `Snapshot` of identities; `compare_snapshots` lists the differences of two of them.
Importing this package imports no PyTorch.
"""

from __future__ import annotations

from tclab.compare.changes import Change, Comparison, compare_snapshots
from tclab.compare.identity import take_snapshot

__all__ = ["Change", "Comparison", "compare_snapshots", "take_snapshot"]
