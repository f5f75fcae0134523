"""Compute columns for the items of each row, near the items that they are linked to and without
overlap.

igraph's Sugiyama layout orders the items of each row well, but it can put two items into the same
column (as in 1.0.0). This module keeps the order and finds columns by sweeps over the rows: each
sweep solves a least squares problem for a row, with fixed gaps between neighbours.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

#: The number of sweeps down and up. More sweeps make no visible difference.
SWEEPS = 24


def solve_row(
    wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]
) -> list[float]:
    """Return positions with at least `gaps` between neighbours that minimise the weighted sum of
    squared distances to `wanted`.

    The algorithm is pool adjacent violators: items that would overlap become one block. `gaps[i]`
    is the gap between items i - 1 and i; `gaps[0]` is not used.
    """
    offsets, total = [], 0.0
    for i, gap in enumerate(gaps):
        total += gap if i else 0.0
        offsets.append(total)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, length
    for want, weight, offset in zip(wanted, weights, offsets, strict=True):
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, other_weight, length = blocks.pop()
            mean = (mean * weight + other * other_weight) / (weight + other_weight)
            weight, count = weight + other_weight, count + length  # noqa: PLW2901
        blocks.append((mean, weight, count))
    means = [mean for mean, _, length in blocks for _ in range(length)]
    return [z + offset for z, offset in zip(means, offsets, strict=True)]


class ColumnSolver:
    """Finds columns for items in rows. Links connect items of neighbouring rows."""

    def __init__(
        self,
        rows: Sequence[Sequence[int]],
        links: Sequence[tuple[int, int, float]],
        is_route_point: Sequence[bool],
        first_columns: Sequence[float],
    ) -> None:
        """Set what to solve. `rows` hold the items from left to right; `links` are (upper item,
        lower item, weight); `is_route_point` marks the items that are points of a long line;
        `first_columns` are the columns to start from.
        """
        self.rows, self.is_route_point, self.x = rows, is_route_point, list(first_columns)
        self.above: list[list[tuple[int, float]]] = [[] for _ in first_columns]
        self.below: list[list[tuple[int, float]]] = [[] for _ in first_columns]
        for upper, lower, weight in links:
            self.below[upper].append((lower, weight))
            self.above[lower].append((upper, weight))

    def solve(self) -> list[float]:
        """Return the column of each item."""
        for sweep in range(SWEEPS):
            both_ways = sweep >= SWEEPS // 2
            for row in self.rows:
                self._place(row, up=True, down=both_ways)
            for row in reversed(self.rows):
                self._place(row, up=both_ways, down=True)
        for row in self.rows:
            self._place(row, up=True, down=True)
        return self.x

    def _gap(self, left: int, right: int) -> float:
        return (1.0, 0.62, 0.25)[self.is_route_point[left] + self.is_route_point[right]]

    def _place(self, row: Sequence[int], *, up: bool, down: bool) -> None:
        positions, weights = [], []
        for item in row:
            neighbours = (self.above[item] if up else []) + (self.below[item] if down else [])
            total = sum(weight for _, weight in neighbours)
            mean = sum(self.x[other] * weight for other, weight in neighbours)
            positions.append(mean / total if total else self.x[item])
            weights.append(total or 0.1)
        gaps = [0.0, *(self._gap(a, b) for a, b in itertools.pairwise(row))]
        for item, x in zip(row, solve_row(positions, weights, gaps), strict=True):
            self.x[item] = x
