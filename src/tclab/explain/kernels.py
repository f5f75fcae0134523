"""The kernels of a report: each with its source lines, what it moves, what it needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tclab.model import Chain, Kernel, KernelRow

_STAGES = ("kernel", "cpp", "wrapper")


def rows(chains: Sequence[Chain]) -> tuple[KernelRow, ...]:
    """Every kernel and library call, graph by graph; what layer after layer calls alike, once."""
    return _alike_once(row for graph, chain in enumerate(chains) for row in _of(graph, chain))


def of_kernels(kernels: Sequence[Kernel]) -> tuple[KernelRow, ...]:
    """The same of kernels whose chains are not known: without graph and measures."""
    return tuple(_row(kernel, number) for number, kernel in enumerate(kernels, 1))


def _of(graph: int, chain: Chain) -> Iterator[KernelRow]:
    for stage in _STAGES:
        panes = [pane for pane in chain.panes if pane.stage == stage]
        for number, pane in enumerate(panes, 1):
            if isinstance(pane, Kernel):
                yield _row(pane, number, graph)


def _row(kernel: Kernel, pane: int, graph: int | None = None) -> KernelRow:
    facts, taken = kernel.facts, kernel.facts.resources
    return KernelRow(
        kernel.kernel_name,
        kernel.category,
        kernel.language,
        kernel.direction,
        kernel.stage,
        pane,
        graph,
        origins=kernel.origins,
        lines=tuple({str(line): line for line in kernel.source_lines}.values()),
        bytes=sum(facts.moved) if facts.moved else None,
        registers=taken.registers if taken else None,
        spilled=taken.spilled if taken else None,
        instructions=facts.instructions,
        times=facts.calls or 1,
        one_of_two=facts.one_of_two,
    )


def _alike_once(rows: Iterable[KernelRow]) -> tuple[KernelRow, ...]:
    """Library calls of one graph that differ in nothing but their pane are one row."""
    alike: dict[KernelRow, list[KernelRow]] = {}
    for row in rows:
        key = replace(row, pane=0) if row.category == "extern" else row
        alike.setdefault(key, []).append(row)
    return tuple(_together(several) for several in alike.values())


def _together(alike: Sequence[KernelRow]) -> KernelRow:
    first, count = alike[0], len(alike)
    total = None if first.bytes is None else first.bytes * count
    return replace(first, bytes=total, times=first.times * count)
