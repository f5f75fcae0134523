"""Check that a function's time grows with its input, and not with the input's square."""

from __future__ import annotations

import time
from collections.abc import Callable

SMALL, FACTOR = 10_000, 8


def assert_linear(f: Callable[[str], object], piece: str, end: str = "") -> None:
    """Assert that eight times the input takes far less than 64 times the time; a factor of 24
    leaves room for noise.
    """
    small, large = (_seconds(f, _repeated(piece, n) + end) for n in (SMALL, FACTOR * SMALL))
    assert large <= 3 * FACTOR * max(small, 0.002), f"{large:.3f} s after {small:.3f} s"


def _repeated(piece: str, length: int) -> str:
    return piece * (length // len(piece) + 1)


def _seconds(f: Callable[[str], object], text: str) -> float:
    return min(_once(f, text) for _ in range(2))


def _once(f: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    f(text)
    return time.process_time() - start
