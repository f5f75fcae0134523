"""Define the values of one compile that the rules read. The values contain no objects of that
compile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tclab.compare.fixes import Fix
from tclab.model import (
    Advice,
    Agreement,
    Breaks,
    CacheResult,
    CallCost,
    Checkpoints,
    CompileTime,
    Graph,
    KernelRow,
    Measurement,
    OwnCompiles,
    Partition,
    Recompile,
    SourceLine,
)


@dataclass(frozen=True)
class UnrolledLoop:
    """A loop whose rounds are in a graph of Dynamo's. `operators` of the graph's `all_operators`
    come from the loop's own lines, and most of these were traced `times` times.
    """

    line: SourceLine
    times: int
    operators: int
    all_operators: int
    compile_id: str = ""


@dataclass(frozen=True)
class Evidence:
    """The values of one compile of a function that was called `calls` times, in `mode` of
    torch.compile. `call_of` maps a compile id to the number, from 1, of the call that compiled it.

    `recompiles` are the recompiles that did not fail. `fixes` maps the first line of a function
    (``file:line``) to what stops its recompiles. `distinct` maps a frame, and then a source of
    values in it, to the values for which the frame was compiled. `symbols` are the sources of the
    sizes and numbers that Dynamo made symbols. `checkpoint_fix` says how to make
    a backward hold fewer checkpointed regions; '' if no way is known. `seconds_of` maps a compile
    id to the seconds of the compile, if they are known. `callers` maps a function of a library,
    ``file:function``, to the reader's line that called it; `libraries` are the files of libraries.
    `runs_at` maps a line at which graphs end, ``file:line``, to the number of times that the first
    call came to it. `became` maps the id of a recompile to the numbers that it is the first to take
    for symbols: each had another value than before. `on_host` are the lines whose operators run on
    the CPU although a GPU is used.
    """

    calls: int = 1
    call_of: Mapping[str, int] = field(default_factory=dict)
    mode: str = ""
    breaks: Breaks = field(default_factory=Breaks)
    recompiles: tuple[Recompile, ...] = ()
    fixes: Mapping[str, Fix] = field(default_factory=dict)
    distinct: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    symbols: frozenset[str] = frozenset()
    own: OwnCompiles | None = None
    agreement: Agreement = field(default_factory=Agreement)
    advisories: tuple[Advice, ...] = ()
    kernels: tuple[KernelRow, ...] = ()
    cost: CallCost | None = None
    measurement: Measurement | None = None
    cuda_graph_skips: tuple[str, ...] = ()
    on_host: tuple[str, ...] = ()
    cachings: tuple[CacheResult, ...] = ()
    checkpoints: tuple[Checkpoints, ...] = ()
    partitions: tuple[Partition, ...] = ()
    post_grad: tuple[Graph, ...] = ()
    loops: tuple[UnrolledLoop, ...] = ()
    seconds_of: Mapping[str, float] = field(default_factory=dict)
    callers: Mapping[str, SourceLine] = field(default_factory=dict)
    libraries: frozenset[str] = frozenset()
    runs_at: Mapping[str, int] = field(default_factory=dict)
    became: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    checkpoint_fix: str = ""
    compile_time: CompileTime = field(default_factory=CompileTime)
