"""One short way to write a table with units."""

from __future__ import annotations

from typing import Any

import tclab


def table(title: str, columns: dict[str, str], rows: list[tuple], **more: Any) -> tclab.Table:
    """A Table whose `columns` map each name to ``"<unit> <format>"``, e.g. ``"µs .0f"``."""
    halves = [spec.rpartition(" ") for spec in columns.values()]
    units, formats = [h[0] for h in halves], [h[2] for h in halves]
    return tclab.Table(
        title=title, columns=tuple(columns), rows=rows, units=units, formats=formats, **more
    )


def break_even(seconds: float, eager_us: float, compiled_us: float) -> int | None:
    """Calls after which `seconds` of compiling are paid back; None where they never are."""
    saved = (eager_us - compiled_us) * 1e-6
    return int(seconds / saved) + 1 if saved > 0 else None
