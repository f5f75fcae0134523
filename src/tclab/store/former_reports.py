"""Reports of `tclab explain` as format 3 of theirs had them: counts, times and gaps were tables
and lists of words.
"""

from __future__ import annotations

from typing import cast

from tclab.model import (
    Candidate,
    Candidates,
    CompileTime,
    Counts,
    Gap,
    Json,
    Phase,
    Table,
    decode,
    encode,
    rows_of_chains,
)
from tclab.store import kernel_facts

Cell = str | int | float | bool | None

#: Those that are still read, beside the one that is written; from the first on.
FORMATS = ("tclab explain 3", "tclab explain 4")
_TABLES = ("summary", "times")


def upgraded(report: dict[str, Json]) -> dict[str, Json]:
    """The data of a report of format 3, whose kernels are upgraded, in format 4."""
    values = {
        "kernels": rows_of_chains(decode(report["chains"])),
        "candidates": _candidates(decode(report["candidates"])),
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


def _candidates(table: Table) -> Candidates:
    """Kernel, rule, configuration, registers, spilled, shared, occupancy; or why it fails."""
    return Candidates(table.title, table.name, tuple(_candidate(*row) for row in table.rows))


def _candidate(kernel: Cell, rule: Cell, config: Cell, *taken: Cell) -> Candidate:
    names = ("registers per thread", "spilled bytes", "shared memory bytes", "occupancy")
    words = {name: str(value) for name, value in zip(names, taken) if taken[0] is not None}
    facts = kernel_facts.facts(words | {"config": str(config)})
    assert facts.configuration is not None
    problem = "" if facts.resources else str(taken[-1]).removeprefix("does not compile: ")
    return Candidate(str(kernel), str(rule), facts.configuration.config, facts.resources, problem)


def _counts(table: Table) -> Counts:
    """The rows of this table stand in the order of the fields."""
    return Counts(*(cast(int, count) for _, count in table.rows))


def _compile_time(table: Table) -> CompileTime:
    """The last row is the total; in the column of how often, it has the number of compiles."""
    rows = cast("tuple[tuple[str, int, float], ...]", table.rows)
    phases = tuple(Phase(*row) for row in rows[:-1])
    return CompileTime(phases, rows[-1][1] if rows else 0)
