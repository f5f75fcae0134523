"""A belief, the cases it was tried in, and the verdict that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._dynamo.testing import CompileCounter

import tclab

HOLDS, DOES_NOT = "holds", "does not hold"
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])

#: A condition → whether the belief held under it, and what was seen there.
Cases = Mapping[str, tuple[bool, object]]


def verdict(cases: Cases) -> str:
    """`holds`, `does not hold`, or `holds only if` one of the conditions under which it did."""
    held = [condition for condition, (holds, _) in cases.items() if holds]
    if len(held) == len(cases):
        return HOLDS
    return f"holds only if {' or '.join(held)}" if held else DOES_NOT


class Beliefs:
    """The beliefs of one snippet, as they were judged; `show` makes the table that pages read."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.rows: list[tuple[str, str, str, str]] = []

    def judge(self, belief: str, cases: Cases, on: str = "") -> str:
        """The verdict on a belief. `on`: the machine of recorded data, where it is not this one."""
        seen = "; ".join(f"{condition}: {what}" for condition, (_, what) in cases.items())
        self.rows.append((belief, verdict(cases), seen, on))
        return self.rows[-1][1]

    def show(self) -> None:
        """Show the table `verdicts`."""
        columns = ("belief", "verdict", "seen", "on")
        tclab.show(tclab.Table(self.topic, "verdicts", columns, self.rows))


def count(number: int, what: str) -> str:
    """`1 graph`, `2 graphs`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def graphs(fn: Callable[..., Any], *args: Any, **options: Any) -> int:
    """How many graphs one call of a freshly compiled function makes; it must do as eager does."""
    torch._dynamo.reset()
    counter = CompileCounter()
    result = torch.compile(fn, backend=counter, **options)(*args)
    torch.testing.assert_close(result, fn(*args))
    return counter.frame_count
