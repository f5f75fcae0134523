"""What is refused of a function while the rest is shown: a graph of several, or a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tclab.targets import TargetError

_collected: list[list[TargetError]] = []
_suspected: list[TargetError] = []


def note(gap: TargetError) -> None:
    """Note what is not known, and go on; the same is noted once."""
    if _collected and str(gap) not in map(str, _collected[-1]):
        _collected[-1].append(gap)


def suspect(gap: TargetError) -> None:
    """Hold what may not be known, until `settle` says whether the graph's code has it."""
    _suspected.append(gap)


def settle(*, there: bool) -> None:
    """Note what was suspected, or forget it: Inductor writes what is computed on the CPU into the
    GPU's kernels where it can.
    """
    for gap in _suspected if there else ():
        note(gap)
    _suspected.clear()


@contextmanager
def collecting() -> Iterator[list[TargetError]]:
    """For the length of the block, what is noted, in order."""
    _collected.append([])
    _suspected.clear()
    try:
        yield _collected[-1]
    finally:
        _collected.pop()
