"""The kernels of a report as a table."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from itertools import groupby

from tclab.model import KernelRow, SourceLine, Table
from tclab.model.kernels import given

COLUMNS = (
    "kernel", "lines", "bytes moved", "registers", "spilled bytes", "instructions", "times", "kind",
    "graph",
)  # fmt: skip


def table(rows: Sequence[KernelRow]) -> Table:
    """Every column, a row a kernel."""
    body = tuple(
        (row.name, places(row.lines), row.bytes, row.registers, row.spilled, row.instructions,
         row.times, _kind(row), row.graph)
        for row in rows
    )  # fmt: skip
    formats = ("", "", ",d", "d", ",d", ",d", ",d", "", "d")
    return Table("Kernels", "kernels", COLUMNS, body, formats=formats)


def pane(row: KernelRow) -> str:
    """The end of its pane's id in a rendered chain: ``kernel``, ``kernel-2``, …"""
    return row.stage + (f"-{row.pane}" if row.pane > 1 else "")


def _kind(row: KernelRow) -> str:
    """``reduction`` (Triton's), ``C++``, ``library call``; of a gradient that it is one, and of a
    kernel that the GPU may not choose which way has it.
    """
    category = "library call" if row.category == "extern" else row.category.replace("_", " ")
    maker = category or ("C++" if row.language == "cpp" else "Triton")
    backward = ", backward" if row.direction == "backward" else ""
    way = f"open: {given(row.open)}" if row.open else ""
    return ", ".join(filter(None, [f"{maker}{backward}", way, row.measured]))


def compact(rows: Sequence[KernelRow], without: Container[str] = ()) -> Table:
    """The table without the columns that say nothing: empty ones, spills where there are none,
    times where each is once, the graph where there is one; and `without` those that are named.
    """
    whole = table(rows)
    telling = [
        i
        for i, name in enumerate(whole.columns)
        if name not in without and _says(name, [row[i] for row in whole.rows])
    ]
    return replace(
        whole,
        columns=tuple(whole.columns[i] for i in telling),
        rows=tuple(tuple(row[i] for i in telling) for row in whole.rows),
        formats=tuple(whole.formats[i] for i in telling),
    )


def _says(name: str, values: Sequence[object]) -> bool:
    if name == "graph":
        return len(set(values)) > 1
    if name == "times":
        return any(value != 1 for value in values)
    return any(values) if name == "spilled bytes" else any(v is not None for v in values)


def places(lines: Sequence[SourceLine]) -> str:
    """``m.py:3, 5; other.py:7``: lines with their file said once."""
    by_file = groupby(lines, key=lambda line: line.file)
    return "; ".join(f"{file}:{', '.join(str(x.line) for x in own)}" for file, own in by_file)
