"""Define `Capture`, which reads every stage of a compile from the trace on first use."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import torch

from tclab.capturing.chain.chains import build_chains
from tclab.capturing.machine_code import size_limit, triton
from tclab.capturing.read import bytecode as _bytecode
from tclab.capturing.read import caching as _caching
from tclab.capturing.read import graphs as _graphs
from tclab.capturing.read import partition as _partition
from tclab.capturing.read import times as _times
from tclab.capturing.read import units as _units
from tclab.capturing.read.stages import Stages
from tclab.capturing.read.units import CompiledKernel, Unit
from tclab.capturing.torch_private import cpp_commands
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.errors import CaptureError, TclabError
from tclab.model import (
    CacheResult,
    Candidates,
    Chain,
    Chart,
    Checkpoints,
    FusionPairs,
    Graph,
    Listing,
    Partition,
    Table,
    TimedQuestion,
)


class Capture(Stages):
    """Every stage of a compile, as artifacts of `tclab.model`.

    A stage is read from the trace on its first use. Reading compiles nothing, except for
    `compile_kernels` and the methods that say that they call it. No text has an absolute path or
    a detail that differs from process to process. Frames are numbered from 0 in the order in which
    this capture met them, so ``1/0`` is the first compile of the second frame.
    """

    #: Errors for the parts that cannot be compiled for the target; they do not affect `kernels`.
    gaps: tuple[TclabError, ...] = ()
    #: The operators that run on the CPU although there is a target, each with its line.
    on_host: tuple[tuple[str, str], ...] = ()
    #: The questions that PyTorch decides by timing on the target; `kernels` has the kernels of both
    #: answers.
    timed: tuple[TimedQuestion, ...] = ()

    def __init__(
        self,
        trace: Trace | None = None,
        results: tuple[object, ...] = (),
        most_lines: int | None = None,
    ) -> None:
        super().__init__(trace)
        self.results = results  #: the result of each call
        #: Kernels with more lines than this get no machine code stages; None means no limit.
        self.most_lines = most_lines
        self._compiled = False
        self._chains: dict[bool, tuple[Chain, ...]] = {}

    def end(self, trace: Trace) -> None:
        """End the watched block. From now on the stages are read from `trace`."""
        self._trace = trace

    @property
    def result(self) -> Any:
        """The result of the last call."""
        if not self.results:
            raise CaptureError(
                "Capture.result", "no call was made through this capture", "use capture(fn)(...)"
            )
        return self.results[-1]

    @property
    def trace(self) -> Trace:
        """The events of the compile. Raises CaptureError while the watched block is running."""
        if self._trace is None:
            raise CaptureError(
                "tclab.capture", "the block is still running", "read it after the with block"
            )
        return self._trace

    @cached_property
    def bytecode(self) -> tuple[Listing, ...]:
        """Original and rewritten bytecode, two listings for each compile."""
        return tuple(
            listing for frame in self._bytecode for listing in (frame.original, frame.rewritten)
        )

    @cached_property
    def _bytecode(self) -> tuple[_bytecode.FrameBytecode, ...]:
        return _bytecode.read_bytecode(self.trace)

    @cached_property
    def pre_grad(self) -> tuple[Graph, ...]:
        """Graphs after Inductor's pre-grad passes."""
        return _graphs.read_graphs(self.trace, "pre_grad")

    @cached_property
    def partitions(self) -> tuple[Partition, ...]:
        """The partitioner's decision on each forward value, one Partition per backward graph."""
        return _partition.read_partitions(self.trace, self.forward, self.backward)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Inductor's compile of each post-grad graph."""
        return _units.read_units(self.trace, self.post_grad)

    @cached_property
    def ir_pre_fusion(self) -> tuple[Listing, ...]:
        """Inductor's IR before fusion."""
        return tuple(unit.ir_pre_fusion for unit in self.units if unit.ir_pre_fusion)

    @cached_property
    def ir(self) -> tuple[Listing, ...]:
        """Inductor's IR after fusion."""
        return tuple(unit.ir for unit in self.units if unit.ir)

    @cached_property
    def fusion(self) -> Listing:
        """The scheduler's log of fusion decisions."""
        return _units.list_fusion_decisions(self.units)

    @cached_property
    def fusion_pairs(self) -> tuple[FusionPairs, ...]:
        """The scheduler's decision and its reason for each pair of nodes, for each graph."""
        return tuple(unit.pairs for unit in self.units if unit.pairs)

    @cached_property
    def wrapper(self) -> tuple[Listing, ...]:
        """The Python file Inductor wrote for each graph."""
        return tuple(unit.wrapper for unit in self.units if unit.wrapper)

    def compile_kernels(self) -> tuple[CompiledKernel, ...]:
        """Compile each Triton kernel in the configuration of its launch; return the kernels with
        their stages down to SASS. Later calls return the same. The result is empty on a CPU. Raises
        CaptureError if Triton cannot compile a kernel.
        """
        if not self._compiled:
            self._compile_units()
            self._compiled = True
        return tuple(kernel for unit in self.units for kernel in unit.compiled.values())

    def _compile_units(self) -> None:
        launched = {e.payload.strip(): e.data for e in self.trace.select(names.LAUNCHED)}
        compiler = triton.Compiler(torch.cuda.get_device_name() if launched else "")
        for unit in self.units:
            unit.compiled = compiler.compile_launched(self._short_triton_sources(unit), launched)

    def _short_triton_sources(self, unit: Unit) -> dict[str, str]:
        return size_limit.sources_within_limit(unit.output.triton_sources(), self.most_lines)

    def omitted_kernels(self) -> dict[str, str]:
        """Map the name of each kernel without instructions to the reason: the kernel has too many
        lines, or its graph has too many C++ kernels.
        """
        return dict(size_limit.explain_left_out_kernels(self.units, self.most_lines))

    def compile_candidates(self) -> Candidates:
        """Return the configurations among which a target's GPU chooses. The result is empty without
        a target, because this machine's GPU has already chosen.
        """
        return Candidates("Candidates", "candidates")

    @property
    def compiled(self) -> tuple[CompiledKernel, ...]:
        """The result of `compile_kernels`; snippets use this name."""
        return self.compile_kernels()

    def stages(self, kernel_name: str) -> dict[str, Listing]:
        """Return ttir, ttgir, llir, ptx and sass of one Triton kernel; this calls
        `compile_kernels`. Raises KeyError, with the names of all Triton kernels, if no kernel has
        this name.
        """
        kernels = self.compile_kernels()
        for kernel in kernels:
            if kernel.name == kernel_name:
                return kernel.stages
        known = ", ".join(kernel.name for kernel in kernels) or "none"
        raise KeyError(f"no Triton kernel {kernel_name!r}; there are: {known}")

    def chains(self, *, machine_code: bool = True) -> tuple[Chain, ...]:
        """Return one Chain for each Dynamo graph: its stages, with links from line to line. With
        `machine_code` the chain ends in instructions, and the call compiles the kernels.
        """
        if machine_code not in self._chains:
            self._chains[machine_code] = self._link_stages(machine_code)
        return self._chains[machine_code]

    def _link_stages(self, machine_code: bool) -> tuple[Chain, ...]:
        if machine_code:
            self.compile_kernels()
        uncompiled = tuple(replace(unit, compiled={}) for unit in self.units)
        return build_chains(
            self.trace,
            {
                "dynamo": self.graphs,
                "joint": self.joint,
                "forward": self.forward,
                "backward": self.backward,
                "post_grad": self.post_grad,
            },
            self._bytecode,
            self.units if machine_code else uncompiled,
            cpp_commands.known_commands(self.trace) if machine_code else {},
            self.most_lines,
        )

    @cached_property
    def times(self) -> Table:
        """Compile seconds by phase; the phases add up to the total."""
        return self.compile_time.table

    @cached_property
    def checkpoints(self) -> tuple[Checkpoints, ...]:
        """The values of checkpointed regions that each backward graph holds."""
        return tuple(event.data for event in self.trace.select(names.CHECKPOINTS))

    @cached_property
    def cachings(self) -> tuple[CacheResult, ...]:
        """Whether the caches of AOTAutograd and Inductor can keep each graph, and if not, why."""
        return _caching.read_cachings(self.trace, self.graphs)

    @cached_property
    def timeline(self) -> Chart:
        """A chart of the beginning and the length of each phase, in seconds."""
        return _times.read_timeline(self.trace)

    @cached_property
    def overview(self) -> Table:
        """The numbers of graphs, breaks, guards, recompiles, kernels and library calls."""
        kernels = self.likely_kernels
        generated = [k for k in kernels if k.category != "extern"]
        rows = (
            ("Dynamo graphs", len(self.graphs)),
            ("graph breaks", len(self.breaks)),
            ("guards", sum(len(g) for g in self.guards)),
            ("recompiles", len(self.recompiles)),
            ("generated kernels", len(generated)),
            ("library calls", len(kernels) - len(generated)),
        )
        return Table("Overview of the compile", "overview", ("what", "count"), rows)
