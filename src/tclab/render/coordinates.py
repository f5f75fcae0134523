"""Where the items of each row stand: near what they are linked to, never overlapping.

igraph's Sugiyama layout gives a good order within rows, but columns that can coincide
(seen on 1.0.0). Here the order is kept and columns are found by sweeps: each row moves
towards its neighbours, and the least squares solution that keeps the gaps is taken.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

#: Sweeps down and up; more do not show.
SWEEPS = 24


def spread(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Positions closest to `wanted` (weighted squares) whose neighbours are `gaps` apart.

    Pool adjacent violators: where two would overlap they become one block. `gaps[i]` lies
    between i - 1 and i; the first is not used.
    """
    offsets, total = [], 0.0
    for i, gap in enumerate(gaps):
        total += gap if i else 0.0
        offsets.append(total)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, length
    for want, weight, offset in zip(wanted, weights, offsets, strict=True):
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, heavy, length = blocks.pop()
            mean = (mean * weight + other * heavy) / (weight + heavy)
            weight, count = weight + heavy, count + length  # noqa: PLW2901
        blocks.append((mean, weight, count))
    flat = [mean for mean, _, length in blocks for _ in range(length)]
    return [z + offset for z, offset in zip(flat, offsets, strict=True)]


class Columns:
    """Items in rows, links between items of rows one above the other."""

    def __init__(
        self,
        rows: Sequence[Sequence[int]],
        links: Sequence[tuple[int, int, float]],
        thin: Sequence[bool],
        start: Sequence[float],
    ) -> None:
        """`rows` hold items from left to right; `links` (above, below, how straight);
        `thin` items are the points a long line passes; `start` is where items stand first.
        """
        self.rows, self.thin, self.x = rows, thin, list(start)
        self.above: list[list[tuple[int, float]]] = [[] for _ in start]
        self.below: list[list[tuple[int, float]]] = [[] for _ in start]
        for upper, lower, weight in links:
            self.below[upper].append((lower, weight))
            self.above[lower].append((upper, weight))

    def solve(self) -> list[float]:
        """The column of each item."""
        for sweep in range(SWEEPS):
            last = sweep >= SWEEPS // 2
            for row in self.rows:
                self._place(row, up=True, down=last)
            for row in reversed(self.rows):
                self._place(row, up=last, down=True)
        for row in self.rows:
            self._place(row, up=True, down=True)
        return self.x

    def _gap(self, left: int, right: int) -> float:
        return (1.0, 0.62, 0.25)[self.thin[left] + self.thin[right]]

    def _place(self, row: Sequence[int], *, up: bool, down: bool) -> None:
        wanted, weights = [], []
        for item in row:
            near = (self.above[item] if up else []) + (self.below[item] if down else [])
            total = sum(weight for _, weight in near)
            mean = sum(self.x[other] * weight for other, weight in near)
            wanted.append(mean / total if total else self.x[item])
            weights.append(total or 0.1)
        gaps = [0.0, *(self._gap(a, b) for a, b in itertools.pairwise(row))]
        for item, x in zip(row, spread(wanted, weights, gaps), strict=True):
            self.x[item] = x
