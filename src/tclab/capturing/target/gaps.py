"""What is refused of a function while the rest is shown: a graph of several, or a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tclab.targets import TargetError

_heard: list[list[TargetError]] = []


def note(gap: TargetError) -> None:
    """Note what is not known, and go on; the same is noted once."""
    if _heard and str(gap) not in map(str, _heard[-1]):
        _heard[-1].append(gap)


@contextmanager
def heard() -> Iterator[list[TargetError]]:
    """For the length of the block, what is noted, in order."""
    _heard.append([])
    try:
        yield _heard[-1]
    finally:
        _heard.pop()
