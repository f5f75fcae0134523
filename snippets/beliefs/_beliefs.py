"""A belief, the cases it was tried in, and the verdict that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._dynamo.testing import CompileCounter

import tclab

HOLDS, DOES_NOT = "holds", "does not hold"
OF_ONE_CASE = ", in the one case tried"
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])

#: A condition → whether the belief held under it, and what was seen there.
Cases = Mapping[str, tuple[bool, object]]


def verdict(cases: Cases) -> str:
    """`holds`, `does not hold`, or `holds only if` one of the conditions under which it did; a
    verdict from a single case says so.
    """
    held = [condition for condition, (holds, _) in cases.items() if holds]
    if 0 < len(held) < len(cases):
        return f"holds only if {' or '.join(held)}"
    return (HOLDS if held else DOES_NOT) + (OF_ONE_CASE if len(cases) == 1 else "")


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


def transformer_layer(**options: Any) -> torch.nn.Module:
    """Real code to try a belief on: torch's own layer, [batch, sequence, 16], without dropout."""
    torch.manual_seed(0)
    options = {"dropout": 0.0, "batch_first": True, "norm_first": True, **options}
    return torch.nn.TransformerEncoderLayer(16, 2, 32, **options)


def graphs(fn: Callable[..., Any], *args: Any, **options: Any) -> int:
    """How many graphs one call of a freshly compiled function makes; it must do as eager does."""
    torch._dynamo.reset()
    counter = CompileCounter()
    result = torch.compile(fn, backend=counter, **options)(*args)
    torch.testing.assert_close(result, fn(*args))
    return counter.frame_count
