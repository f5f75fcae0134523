"""Reports of `tclab explain` as format 3 of theirs had them: counts, times and gaps were tables
and lists of words.
"""

from __future__ import annotations

from typing import cast

from tclab.model import CompileTime, Counts, Gap, Json, Phase, Table, decode, encode

FORMAT = "tclab explain 3"
_TABLES = ("summary", "times", "kernels", "candidates")


def upgraded(report: dict[str, Json]) -> dict[str, Json]:
    """The data of a report of format 3 in format 4. The tables of its kernels and of their
    candidates are left out: the chains have the kernels.
    """
    values = {
        "counts": _counts(decode(report["summary"])),
        "compile_time": _compile_time(decode(report["times"])),
        "refusal": next(iter(_gaps([report["refusal"]])), None),
        "gaps": _gaps(report["gaps"]),
        "left_out": _gaps(report["left_out"]),
    }
    rest = {name: value for name, value in report.items() if name not in _TABLES}
    return rest | {name: encode(value) for name, value in values.items()}


def _gaps(lists: Json) -> list[Gap]:
    """``[place, cause, next step]`` each; an empty list is no gap."""
    return [Gap(*words) for words in cast("list[list[str]]", lists) if words]


def _counts(table: Table) -> Counts:
    """The rows of this table stand in the order of the fields."""
    return Counts(*(cast(int, count) for _, count in table.rows))


def _compile_time(table: Table) -> CompileTime:
    """The last row is the total; in the column of how often, it has the number of compiles."""
    rows = cast("tuple[tuple[str, int, float], ...]", table.rows)
    phases = tuple(Phase(*row) for row in rows[:-1])
    return CompileTime(phases, rows[-1][1] if rows else 0)
