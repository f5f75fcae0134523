"""How fast a kernel could be at the most: the larger of two times, of its bytes and its products.

Bytes are as few as can be: every input once, every output once. The copy rate is that of the
measured copy of the nearest size; the product rate that of a large product of the same numbers.
"""

from __future__ import annotations

import math
from itertools import pairwise

from _recorded import by_case

from tclab.workshop.bench.rows import Book, Row


def copies(book: Book) -> dict[int, float]:
    """Bytes a second, read plus written, by the bytes that a copy moves."""
    rows = (r["eager"] for name, r in by_case(book, "ceiling").items() if "/copy@" in name)
    moved = {row.facts["least_bytes"]: row.us for row in rows}
    return {size: size / us * 1e6 for size, us in sorted(moved.items())}


def products(book: Book) -> dict[str, float]:
    """Operations a second by ``dtype-n``: two for each multiplication with its addition."""
    prefix = "ceilings/product@"
    cases = by_case(book, "ceiling").items()
    return {
        name.removeprefix(prefix): 2 * int(name.rpartition("-")[2]) ** 3 / r["eager"].us * 1e6
        for name, r in cases
        if name.startswith(prefix)
    }


class Roof:
    """The ceilings of one recording, and what they mean for a kernel."""

    def __init__(self, book: Book) -> None:
        self.copies, self.products = copies(book), products(book)

    def copy(self, size: float) -> float:
        """The rate of the measured copy whose size is nearest."""
        return self.copies[min(self.copies, key=lambda s: abs(math.log(s / size)))]

    def copy_between(self, size: float) -> float:
        """The rate at a size between those that were measured, on a logarithmic axis."""
        pairs = list(self.copies.items())
        for (low, slow), (high, fast) in pairwise(pairs):
            if size <= high:
                return slow + (fast - slow) * math.log(size / low) / math.log(high / low)
        return pairs[-1][1]

    def product(self, case: str) -> float:
        """The highest measured rate for the numbers the case multiplies."""
        dtype = "float8" if "fp8" in case else "bfloat16"
        return max(rate for name, rate in self.products.items() if name.startswith(dtype))

    def least_us(self, eager: Row) -> float:
        """About the least that a version of this function can take."""
        size, flops = eager.facts["least_bytes"], eager.facts.get("flops") or 0
        if "/attention@" in eager.case:
            flops /= 2  # torch counts all pairs of tokens, and half of them are masked
        return max(size / self.copy(size), flops / self.product(eager.case)) * 1e6

    def share(self, eager: Row, row: Row) -> float:
        """That time over the row's: 1 is on the roof."""
        return self.least_us(eager) / row.us
