"""Seconds of a compile, as a multiple of those of a small one on the same machine, in the same run.

Seconds of their own say more about the machine than about the code.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

#: The median of so many quotients; the two compiles are measured in turns.
ROUNDS = 3


def ratio(subject: Callable[[], float], calibration: Callable[[], float]) -> float:
    """How many times as long the subject's compile takes. Each function compiles as if for the
    first time and returns its seconds; the first call of either, which also loads modules, does
    not count.
    """
    subject(), calibration()
    return statistics.median(subject() / calibration() for _ in range(ROUNDS))


def small(x: Any) -> Any:
    """The calibrating compile: a matrix product, and what fuses behind it. `x` is square."""
    return (x @ x).softmax(-1).sum()
