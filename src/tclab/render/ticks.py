"""Ticks of a chart's axes: round numbers, in units that people use, and names that have room."""

from __future__ import annotations

import math
import textwrap
from typing import Any

#: Letters of a tick's label that an inch holds, with room beside; ticks that an axis holds.
_LETTERS, MOST = 9.5, 14


def named(axes: Any, places: list[float], names: list[str]) -> None:
    """Ticks with names: in lines below each other, slanted where these would touch."""
    room = int(_LETTERS * axes.figure.get_size_inches()[0] / max(1, len(names)))
    broken = [textwrap.wrap(name, max(1, room), break_long_words=False) or [""] for name in names]
    slanted = max((len(line) for lines in broken for line in lines), default=0) > room
    axes.set_xticks(places, names if slanted else ["\n".join(lines) for lines in broken])
    axes.tick_params(axis="x", labelrotation=30 if slanted else 0)


def powers(xs: list[float]) -> list[float]:
    """Powers of two around the numbers, as few as an axis has room for."""
    first, last = (math.log2(end(x for x in xs if x > 0)) for end in (min, max))
    step = max(1, math.ceil((last - first) / MOST * 2))
    return [2.0**power for power in range(math.ceil(first - 0.1), math.floor(last + 0.1) + 1, step)]


def number(value: float, _: int = 0) -> str:
    """A tick's label: plain digits up to ten thousand, then thousands, millions, billions."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(size, 1e4):
            return f"{value / size:,.6g}\N{NO-BREAK SPACE}{unit}"
    return format(value, ",.6g") if abs(value) >= 1e-4 or not value else format(value, ".3g")
