"""Record the decisions that tclab makes for a target in place of the device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Decision:
    """One choice for an operator on one of the user's lines.

    `choice` is the answer, such as ``pad=yes``, with its reason; `source` says which rule or
    measurement gave it.
    """

    operator: str
    place: str
    choice: str
    source: str


_open_blocks: list[dict[Decision, None]] = []


def note_decision(decision: Decision) -> None:
    """Record a decision in the innermost `collecting_decisions` block, unless an equal one is
    there.
    """
    if _open_blocks:
        _open_blocks[-1][decision] = None


@contextmanager
def collecting_decisions() -> Iterator[dict[Decision, None]]:
    """Yield a dictionary whose keys are the decisions made within the block, in order."""
    _open_blocks.append({})
    try:
        yield _open_blocks[-1]
    finally:
        _open_blocks.pop()
