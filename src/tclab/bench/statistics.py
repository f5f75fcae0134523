"""Medians and spreads of rounds. Standard library only."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence


def spread(values: Sequence[float]) -> float:
    """The interquartile range over the median; 0 for fewer than three values."""
    if len(values) < 3:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / statistics.median(values)


def quotient(before: Sequence[float], after: Sequence[float]) -> float:
    """The median of the rounds' quotients, so that a drift both shared cancels."""
    return statistics.median(b / a for b, a in zip(before, after))


def geomean(values: Iterable[float]) -> float | None:
    """The geometric mean; None of nothing."""
    logs = [math.log(value) for value in values]
    return math.exp(statistics.fmean(logs)) if logs else None
