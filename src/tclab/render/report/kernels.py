"""Render the kernels of a report as a table."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from itertools import groupby

from tclab.model import KernelRow, SourceLine, Table
from tclab.model.kernels import format_answers

COLUMNS = (
    "kernel", "lines", "µs", "share", "µs at least", "of the roof", "bytes moved", "operations",
    "registers", "spilled bytes", "instructions", "times", "kind", "graph",
)  # fmt: skip


def select_first_call(rows: Sequence[KernelRow]) -> tuple[KernelRow, ...]:
    """Return the rows that the first call runs. If their measured times are known, or else their
    least times, the row with the longest comes first.
    """
    first = [row for row in rows if row.runs]
    return tuple(sorted(first, key=lambda row: (-(row.seconds or 0), -(row.least or 0))))


def select_later_calls(rows: Sequence[KernelRow]) -> tuple[KernelRow, ...]:
    """Return the rows of graphs that a later call compiled."""
    return tuple(row for row in rows if not row.runs)


def table(rows: Sequence[KernelRow]) -> Table:
    """Return a table with all COLUMNS and a row for each kernel. Bytes, operations and times are
    those of one call. The measured time has its share of the sum, and the least time is also given
    as a part of the measured one.
    """
    total = sum(row.seconds or 0 for row in rows)
    body = tuple(
        (row.name, lines_text(row.lines), _microseconds(row.seconds), _quotient(row.seconds, total),
         _microseconds(row.least), _quotient(row.least, row.seconds), row.call_bytes,
         row.call_operations or None, row.registers, row.spilled, row.instructions, row.launches,
         _kind_text(row), row.graph)
        for row in rows
    )  # fmt: skip
    formats = (
        *("", "", ",g", ".0%", ",g", ".0%", "bytes", "operations"),
        *("d", ",d", ",d", ",d", "", "d"),
    )
    return Table("Kernels", "kernels", COLUMNS, body, formats=formats)


_ADDED_UP = ("bytes moved", "operations", "times")


def add_up(rows: Sequence[KernelRow], shown: Table) -> Table | None:
    """Return the totals of one call as a row with the columns of `shown`; None for a single row.
    Kernels that only an unlikely timing would choose are left out.
    """
    counted = [row for row in rows if not row.is_alternative]
    if len(counted) < 2:
        return None
    unknown = sum(row.bytes is None for row in counted)
    full = table(counted)
    totals: dict[str, str | float | None] = {
        name: sum(value for value in values if isinstance(value, (int, float)))
        for name, values in zip(COLUMNS, zip(*full.rows))
        if name in _ADDED_UP
    }
    totals["kernel"] = "total" + f", {unknown} of unknown bytes left out" * bool(unknown)
    totals["µs"] = _microseconds(sum(row.seconds or 0 for row in counted))
    totals["µs at least"] = _microseconds(sum(row.least or 0 for row in counted))
    return replace(shown, rows=(tuple(totals.get(name) for name in shown.columns),))


def _microseconds(seconds: float | None) -> float | None:
    """Return microseconds with two digits that count: a small kernel takes 0.0084 µs, not 0.00."""
    return None if seconds is None else float(f"{seconds * 1e6:.2g}")


def _quotient(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def pane_id(row: KernelRow) -> str:
    """Return the last part of the id of a kernel's pane in a chain: ``kernel``, ``kernel-2``, …"""
    return row.stage + (f"-{row.pane}" if row.pane > 1 else "")


def _kind_text(row: KernelRow) -> str:
    """Return the kind of a kernel: ``reduction`` (Triton), ``C++`` or ``library call``.
    ``backward`` is added for gradients, and the timed answers for kernels that depend on them.
    """
    category = "library call" if row.category == "extern" else row.category.replace("_", " ")
    maker = category or ("C++" if row.language == "cpp" else "Triton")
    backward = ", backward" if row.direction == "backward" else ""
    answers_text = f"open: {format_answers(row.open)}" if row.open else ""
    return ", ".join(filter(None, [f"{maker}{backward}", answers_text, row.measured]))


def compact_table(rows: Sequence[KernelRow], hidden: Container[str] = ()) -> Table:
    """Return the table without uninformative columns: empty columns, spills if there are none,
    times if all are 1, the graph if there is only one. The `hidden` columns are left out, too.
    """
    full_table = table(rows)
    kept_columns = [
        index
        for index, name in enumerate(full_table.columns)
        if name not in hidden and _is_informative(name, [row[index] for row in full_table.rows])
    ]
    return replace(
        full_table,
        columns=tuple(full_table.columns[index] for index in kept_columns),
        rows=tuple(tuple(row[index] for index in kept_columns) for row in full_table.rows),
        formats=tuple(full_table.formats[index] for index in kept_columns),
    )


def _is_informative(name: str, values: Sequence[object]) -> bool:
    if name == "graph":
        return len(set(values)) > 1
    if name == "times":
        return any(value != 1 for value in values)
    return any(values) if name == "spilled bytes" else any(v is not None for v in values)


def lines_text(lines: Sequence[SourceLine]) -> str:
    """Return lines as text that names each file once: ``m.py:3, 5; other.py:7``."""
    by_file = groupby(lines, key=lambda line: line.file)
    return "; ".join(
        f"{file}:{', '.join(str(line.line) for line in file_lines)}" for file, file_lines in by_file
    )
