"""What was decided for a target that PyTorch decides by asking the device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Decision:
    """One choice: the operator, the user's line, what was chosen and why, by what authority."""

    operator: str
    place: str
    choice: str
    source: str


_collected: list[dict[Decision, None]] = []


def decided(decision: Decision) -> None:
    """Note a decision; the same one is noted once, however often it is traced."""
    if _collected:
        _collected[-1][decision] = None


@contextmanager
def collecting() -> Iterator[dict[Decision, None]]:
    """For the length of the block, what is decided, in order: the keys of what is yielded."""
    _collected.append({})
    try:
        yield _collected[-1]
    finally:
        _collected.pop()
