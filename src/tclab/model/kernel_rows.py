"""Define rows of tables: the kernels of a report, and the candidate configurations of a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from tclab.model.artifacts import Artifact, Chain, Kernel, SourceLine
from tclab.model.codec import kind
from tclab.model.kernels import Config, Resources, TimedAnswer, needs_unlikely


@kind("kernel-row")
@dataclass(frozen=True)
class KernelRow:
    """One kernel of one graph, or one library call together with its repetitions.

    `origins` are the ATen nodes that the kernel computes. `lines` are the user's lines, each once.
    `bytes` counts the memory traffic of all launches. `operations` counts the operations of the
    products (matrix products, convolutions, attention) in all launches; `rate` is the number format
    of the products' operands: one of RATES, or ''. `upcast` is the dtype of fewer bits from which
    all of these operands were converted, or ''. `registers` is the number of registers per
    thread, and `spilled` counts the bytes of registers that went to memory. `times` counts the
    launches or calls in one run of the graph, and `runs` counts the runs of the graph in the first
    call. `least` is the least time in seconds that all launches of the first call take, and
    `seconds` is their measured time. `graph` is the number of the graph, from 0; it is None if the
    chains are not known. `pane` is the number of the kernel's pane in its `stage`, from 1; a
    repeated call has the pane of the first one. In the other fields, None means that the number is
    unknown or not applicable.
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
    operations: int | None = None
    rate: str = ""
    runs: int = 1
    least: float | None = None
    upcast: str = ""
    seconds: float | None = None

    @property
    def launches(self) -> int:
        """The launches or calls in the first call; of a graph that a later call compiled, in one
        run.
        """
        return self.times * max(self.runs, 1)

    @property
    def call_bytes(self) -> int | None:
        """The bytes that all of its launches move."""
        return None if self.bytes is None else self.bytes * max(self.runs, 1)

    @property
    def call_operations(self) -> int | None:
        """The operations of the products in all of its launches."""
        return None if self.operations is None else self.operations * max(self.runs, 1)

    @property
    def is_alternative(self) -> bool:
        """Whether the GPU runs this kernel only if its timing gives an unlikely answer."""
        return needs_unlikely(self.open)


@kind("candidate")
@dataclass(frozen=True)
class Candidate:
    """One compiled configuration out of those that a GPU would time. `rule` is the function that
    proposed it. If the configuration does not compile, `resources` is None and `problem` says why.
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
    """The candidates of each kernel that has several. The first candidate of a kernel is the one
    shown.
    """

    candidates: tuple[Candidate, ...] = ()

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)


# --------------------------------------------------------------------------- a report's rows

_STAGES = ("kernel", "cpp", "wrapper")


#: The number of a graph, a stage, and the number of a kernel's pane in this stage, from 1.
KernelKey = tuple[int, str, int]


def rows_of_chains(
    chains: Sequence[Chain], seconds: Mapping[KernelKey, float] = MappingProxyType({})
) -> tuple[KernelRow, ...]:
    """Return a row for each kernel and library call, graph by graph. Equal calls share one row.
    `seconds` are the measured seconds of one launch. The bytes and operations of a graph that runs
    with several sizes are not known, because they are counted for the sizes of its compile.
    """
    return _merge_equal_calls(
        _add_seconds(_row_of_chain(kernel, key[2], graph, chain), seconds.get(key))
        for graph, chain in enumerate(chains)
        for key, kernel in kernels_of_chain(graph, chain)
    )


def kernels_of_chain(graph: int, chain: Chain) -> Iterator[tuple[KernelKey, Kernel]]:
    """Yield the kernels of a chain stage by stage, in the order of their first calls."""
    for stage in _STAGES:
        panes = [pane for pane in chain.panes if pane.stage == stage]
        for number, pane in enumerate(panes, 1):
            if isinstance(pane, Kernel):
                yield (graph, stage, number), pane


def _row_of_chain(kernel: Kernel, pane: int, graph: int, chain: Chain) -> KernelRow:
    row = replace(_make_row(kernel, pane, graph), runs=chain.runs)
    return replace(row, bytes=None, operations=None) if chain.several_sizes else row


def _add_seconds(row: KernelRow, launch: float | None) -> KernelRow:
    return row if launch is None else replace(row, seconds=launch * row.launches)


def rows_of_kernels(kernels: Sequence[Kernel]) -> tuple[KernelRow, ...]:
    """Return a row for each kernel of an unknown chain: without graph, bytes and registers."""
    return tuple(_make_row(kernel, number) for number, kernel in enumerate(kernels, 1))


def _make_row(kernel: Kernel, pane: int, graph: int | None = None) -> KernelRow:
    facts, resources = kernel.facts, kernel.facts.resources
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
        bytes=facts.traffic,
        registers=resources.registers if resources else None,
        spilled=resources.spilled if resources else None,
        instructions=facts.instructions,
        times=facts.calls or 1,
        open=facts.open,
        measured=facts.measured,
        operations=facts.operations,
        rate=facts.rate,
        upcast=facts.upcast,
    )


def _merge_equal_calls(rows: Iterable[KernelRow]) -> tuple[KernelRow, ...]:
    """Merge library calls of one graph that differ in their pane only."""
    groups: dict[KernelRow, list[KernelRow]] = {}
    for row in rows:
        key = replace(row, pane=0, seconds=None) if row.category == "extern" else row
        groups.setdefault(key, []).append(row)
    return tuple(_merge_rows(group) for group in groups.values())


def _merge_rows(equal_rows: Sequence[KernelRow]) -> KernelRow:
    first, count = equal_rows[0], len(equal_rows)
    seconds = [row.seconds for row in equal_rows if row.seconds is not None]
    return replace(
        first,
        bytes=None if first.bytes is None else first.bytes * count,
        operations=None if first.operations is None else first.operations * count,
        times=first.times * count,
        seconds=sum(seconds) if len(seconds) == count else None,
    )
