"""The kernels of a report: each with its source lines, what it moves, what it needs."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tclab.model import Chain, Kernel, SourceLine, Table

_STAGES = ("kernel", "cpp", "wrapper")
COLUMNS = (
    "kernel", "lines", "bytes moved", "registers", "spilled bytes", "instructions", "times", "kind",
    "graph",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One kernel of one graph, or one call into a library and those that are the same call.

    `bytes` are what it reads and writes in memory; `registers` those of a thread, `spilled` the
    bytes of them that went to memory. None where it is not known, or where there is no such thing.
    """

    graph: int
    ordinal: int  # which pane of its stage, from 1; of several, the first
    kernel: Kernel
    alike: int = 1  # how many panes this is

    @property
    def times(self) -> int:
        """How often it is launched or called in one run of its graph."""
        return self.alike * int(self.kernel.facts.get("calls", "1"))

    @property
    def name(self) -> str:
        return self.kernel.kernel_name

    @property
    def pane(self) -> str:
        """The end of its pane's id in a rendered chain: ``kernel``, ``kernel-2``, …"""
        return self.kernel.stage + (f"-{self.ordinal}" if self.ordinal > 1 else "")

    @property
    def kind(self) -> str:
        """``reduction`` (Triton's), ``C++``, ``library call``; of a gradient that it is one, and
        of a kernel that the GPU may not choose which way has it.
        """
        category = "library call" if self.kernel.category == "extern" else self.kernel.category
        made = category.replace("_", " ") or ("C++" if self.kernel.language == "cpp" else "Triton")
        backward = ", backward" if ", backward" in self.kernel.title else ""
        way = self.kernel.facts.get("one of two", "")
        return f"{made}{backward}" + (f", one of two: {way}" if way else "")

    @property
    def lines(self) -> tuple[SourceLine, ...]:
        """The user's lines it computes, each once."""
        return tuple({str(line): line for line in self.kernel.source_lines}.values())

    @property
    def bytes(self) -> int | None:
        each = self._number("bytes moved")
        return None if each is None else each * self.alike

    @property
    def registers(self) -> int | None:
        return self._number("registers per thread")

    @property
    def spilled(self) -> int | None:
        return self._number("spilled bytes")

    @property
    def instructions(self) -> int | None:
        return self._number("instructions")

    def _number(self, fact: str) -> int | None:
        """A fact as a number; ``1,024 + 8`` is a sum."""
        parts = [
            part.strip().replace(",", "") for part in self.kernel.facts.get(fact, "").split("+")
        ]
        return sum(map(int, parts)) if all(part.isdecimal() for part in parts) else None


def rows(chains: Sequence[Chain]) -> list[Row]:
    """Every kernel and library call, graph by graph; what layer after layer calls alike, once."""
    return _told_once(row for number, chain in enumerate(chains) for row in _of(number, chain))


def _told_once(each: Iterable[Row]) -> list[Row]:
    """Library calls of one graph with the same name, lines, operators and bytes are one row."""
    told: dict[object, Row] = {}
    for row in each:
        what = (row.name, row.lines, row.kernel.origins, row.bytes, row.kind)
        key = (row.graph, what if row.kernel.category == "extern" else row.pane)
        told[key] = replace(told[key], alike=told[key].alike + 1) if key in told else row
    return list(told.values())


def _of(number: int, chain: Chain) -> Iterator[Row]:
    for stage in _STAGES:
        panes = [pane for pane in chain.panes if pane.stage == stage]
        for ordinal, pane in enumerate(panes, 1):
            if isinstance(pane, Kernel):
                yield Row(number, ordinal, pane)


def of_kernels(kernels: Sequence[Kernel]) -> list[Row]:
    """The same of kernels whose chains are not known: without graph and measures."""
    return [Row(-1, number, each) for number, each in enumerate(kernels, 1)]


def table(found: Sequence[Row]) -> Table:
    """The rows as a table."""
    body = tuple(
        (row.name, places(row.lines), row.bytes, row.registers, row.spilled, row.instructions,
         row.times, row.kind, row.graph if row.graph >= 0 else None)
        for row in found
    )  # fmt: skip
    formats = ("", "", ",d", "d", ",d", ",d", ",d", "", "d")
    return Table("Kernels", "kernels", COLUMNS, body, formats=formats)


def compact(found: Table, without: Container[str] = ()) -> Table:
    """The table without the columns that say nothing: empty ones, spills where there are none,
    times where each is once, the graph where there is one; and `without` those that are named.
    """
    kept = [
        i
        for i, name in enumerate(found.columns)
        if name not in without and _says(name, [row[i] for row in found.rows])
    ]
    return replace(
        found,
        columns=tuple(found.columns[i] for i in kept),
        rows=tuple(tuple(row[i] for i in kept) for row in found.rows),
        formats=tuple(found.formats[i] for i in kept),
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
