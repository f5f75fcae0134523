"""Define the values of one compile that the rules read, without the objects of that compile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tclab.model import (
    Advice,
    Agreement,
    Breaks,
    Caching,
    CallCost,
    Checkpoints,
    CompileTime,
    KernelRow,
    OwnCompiles,
    Partition,
    Recompile,
    SourceLine,
)


@dataclass(frozen=True)
class Evidence:
    """Values of one compile, called `calls` times in `mode` of torch.compile; `call_of` maps a
    compile id to the number of the call that compiled it, from 1.

    `recompiles` are those that ended well; `fixes` has what ends them, by the first line of the
    function (``file:line``), and `distinct` the values that each frame was compiled for: frame →
    source → values. `checkpoint_fix` is what makes a backward hold fewer checkpointed regions, ''
    if nothing is known to. `seconds_of` are the seconds of a compile, where it says its own.
    `callers` has the reader's line that led to a function of a library: ``file:function`` → line.
    `on_host` are the lines whose operators run on the CPU beside a GPU.
    """

    calls: int = 1
    call_of: Mapping[str, int] = field(default_factory=dict)
    mode: str = ""
    breaks: Breaks = field(default_factory=Breaks)
    recompiles: tuple[Recompile, ...] = ()
    fixes: Mapping[str, str] = field(default_factory=dict)
    distinct: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    own: OwnCompiles | None = None
    agreement: Agreement = field(default_factory=Agreement)
    advisories: tuple[Advice, ...] = ()
    kernels: tuple[KernelRow, ...] = ()
    cost: CallCost | None = None
    cuda_graph_skips: tuple[str, ...] = ()
    on_host: tuple[str, ...] = ()
    cachings: tuple[Caching, ...] = ()
    checkpoints: tuple[Checkpoints, ...] = ()
    partitions: tuple[Partition, ...] = ()
    seconds_of: Mapping[str, float] = field(default_factory=dict)
    callers: Mapping[str, SourceLine] = field(default_factory=dict)
    checkpoint_fix: str = ""
    compile_time: CompileTime = field(default_factory=CompileTime)

    @property
    def compile_seconds(self) -> float:
        """The mean seconds of one compile; 0 if there was none."""
        times = self.compile_time
        return times.seconds / times.compiles if times.compiles else 0.0
