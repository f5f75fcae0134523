"""Compute medians and spreads of rounds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence


def spread(values: Sequence[float]) -> float:
    """Return the interquartile range divided by the median; 0 for fewer than three values."""
    if len(values) < 3:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / statistics.median(values)


def median_ratio(before: Sequence[float], after: Sequence[float]) -> float:
    """Return the median of the rounds' ratios before / after. A drift that affects both times of a
    round cancels in their ratio.
    """
    return statistics.median(b / a for b, a in zip(before, after))


def geomean(values: Iterable[float]) -> float | None:
    """Return the geometric mean; None for no values."""
    logs = [math.log(value) for value in values]
    return math.exp(statistics.fmean(logs)) if logs else None
