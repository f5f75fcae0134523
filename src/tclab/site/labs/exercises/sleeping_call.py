"""Define a function of known duration, to be timed in labs 1 and 5."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


class SleepingCall:
    """A function whose call number n sleeps for ``seconds(n)``. `took` lists the measured seconds
    of the calls.
    """

    def __init__(self, seconds: Callable[[int], float], result: Callable[[Any], Any] = lambda x: x):
        self.seconds, self.result = seconds, result
        self.took: list[float] = []

    def __call__(self, x: Any = None) -> Any:
        start = time.perf_counter()
        time.sleep(self.seconds(len(self.took)))
        self.took.append(time.perf_counter() - start)
        return self.result(x)
