"""Set the ticks of a chart's axes: round numbers in common units, and names that fit."""

from __future__ import annotations

import math
import textwrap
from typing import Any

#: The number of a tick label's letters that fit into an inch, and of ticks that fit on an axis.
_LETTERS, MOST_TICKS = 9.5, 14


def set_named_ticks(axes: Any, positions: list[float], names: list[str]) -> None:
    """Set ticks with names. Long names wrap into lines; names that are still too long are
    slanted.
    """
    letters_per_tick = int(_LETTERS * axes.figure.get_size_inches()[0] / max(1, len(names)))
    wrapped = [
        textwrap.wrap(name, max(1, letters_per_tick), break_long_words=False) or [""]
        for name in names
    ]
    is_slanted = (
        max((len(line) for lines in wrapped for line in lines), default=0) > letters_per_tick
    )
    axes.set_xticks(positions, names if is_slanted else ["\n".join(lines) for lines in wrapped])
    axes.tick_params(axis="x", labelrotation=30 if is_slanted else 0)


def powers_of_two(xs: list[float]) -> list[float]:
    """Return powers of two that cover the numbers, as many as fit on an axis."""
    first, last = (math.log2(pick(x for x in xs if x > 0)) for pick in (min, max))
    step = max(1, math.ceil((last - first) / MOST_TICKS * 2))
    return [2.0**power for power in range(math.ceil(first - 0.1), math.floor(last + 0.1) + 1, step)]


def format_number(value: float, _: int = 0) -> str:
    """Return the label of a tick: digits below ten thousand, else thousands, millions, billions."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(size, 1e4):
            return f"{value / size:,.6g}\N{NO-BREAK SPACE}{unit}"
    return format(value, ",.6g") if abs(value) >= 1e-4 or not value else format(value, ".3g")
