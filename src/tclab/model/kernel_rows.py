"""Kernels in rows: those of a report, and the candidates that a GPU would choose among."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tclab.model.artifacts import Artifact, Chain, Kernel, SourceLine
from tclab.model.codec import kind
from tclab.model.kernels import Config, Resources, TimedAnswer


@kind("kernel-row")
@dataclass(frozen=True)
class KernelRow:
    """One kernel of one graph, or one call into a library and those that are the same call.

    `origins` are the ATen nodes that it computes, `lines` the user's, each once. `bytes` are what
    all of them read and write in memory, `registers` those of a thread, `spilled` the bytes of
    them that went to memory; None where it is not known, or where there is no such thing. `times`
    says how often it is launched or called in one run of its `graph`, which counts from 0 (None:
    the chains are not known). `pane` counts the panes of its `stage` from 1; of several calls it
    is the first.
    """

    kind: ClassVar[str]
    name: str
    category: str = ""
    language: str = ""
    direction: str = ""
    stage: str = ""
    pane: int = 1
    graph: int | None = None
    origins: tuple[str, ...] = ()
    lines: tuple[SourceLine, ...] = ()
    bytes: int | None = None
    registers: int | None = None
    spilled: int | None = None
    instructions: int | None = None
    times: int = 1
    open: tuple[TimedAnswer, ...] = ()
    measured: str = ""


@kind("candidate")
@dataclass(frozen=True)
class Candidate:
    """A configuration that a GPU would choose among, compiled. `rule` made it; `resources` is None
    where it does not compile, and `problem` says why.
    """

    kind: ClassVar[str]
    kernel: str
    rule: str
    config: Config
    resources: Resources | None = None
    problem: str = ""


@kind("candidates")
@dataclass(frozen=True)
class Candidates(Artifact):
    """The candidates of each kernel that has several, the first of them those that are shown."""

    candidates: tuple[Candidate, ...] = ()

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)


# --------------------------------------------------------------------------- a report's rows

_STAGES = ("kernel", "cpp", "wrapper")


def rows_of_chains(chains: Sequence[Chain]) -> tuple[KernelRow, ...]:
    """Every kernel and library call, graph by graph; what layer after layer calls alike, once."""
    return _alike_once(row for graph, chain in enumerate(chains) for row in _of(graph, chain))


def rows_of_kernels(kernels: Sequence[Kernel]) -> tuple[KernelRow, ...]:
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
        open=facts.open,
        measured=facts.measured,
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
