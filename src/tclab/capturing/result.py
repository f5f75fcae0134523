"""`Capture`: everything a compile went through, read from its trace when it is asked for."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import torch

from tclab.capturing.chain.chains import chains
from tclab.capturing.machine_code import size_limit, triton
from tclab.capturing.read import breaks as _breaks
from tclab.capturing.read import bytecode as _bytecode
from tclab.capturing.read import graphs as _graphs
from tclab.capturing.read import guards as _guards
from tclab.capturing.read import partition as _partition
from tclab.capturing.read import recompiles as _recompiles
from tclab.capturing.read import times as _times
from tclab.capturing.read import units as _units
from tclab.capturing.read.units import CompiledKernel, Unit
from tclab.capturing.torch_private import cpp_commands
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.errors import CaptureError, TclabError
from tclab.model import (
    Breaks,
    Candidates,
    Chain,
    Chart,
    CompileTime,
    FusionPairs,
    Graph,
    Guards,
    Kernel,
    Listing,
    Partition,
    Recompiles,
    Symbols,
    Table,
    TimedQuestion,
)
from tclab.scrub import scrub


class Capture:
    """Everything a compile went through, as artifacts of `tclab.model`.

    Each stage is read from the trace when it is first asked for; only `compile_kernels`, and what
    says that it calls it, compiles anything. All text is free of absolute
    paths and of what differs from process to process. Frames are numbered from 0 in the order
    this capture met them, so ``1/0`` is the first compile of the second piece of code.
    """

    #: What a target refused; the kernels there are not affected.
    gaps: tuple[TclabError, ...] = ()
    #: What a target's GPU would time; the kernels are of both ways.
    timed: tuple[TimedQuestion, ...] = ()

    def __init__(
        self,
        trace: Trace | None = None,
        results: tuple[object, ...] = (),
        most_lines: int | None = None,
    ) -> None:
        self._trace = trace
        self.results = results  #: what each call returned
        #: Kernels with more lines of source are not taken down to instructions. None: all are.
        self.most_lines = most_lines
        self._compiled = False
        self._chains: dict[bool, tuple[Chain, ...]] = {}

    def end(self, trace: Trace) -> None:
        """The block that this capture watched has ended; this is what was noted in it."""
        self._trace = trace

    @property
    def result(self) -> Any:
        """What the last call returned."""
        if not self.results:
            raise CaptureError(
                "Capture.result", "no call was made through this capture", "use capture(fn)(...)"
            )
        return self.results[-1]

    @property
    def trace(self) -> Trace:
        """The events themselves; complete once the capture has ended."""
        if self._trace is None:
            raise CaptureError(
                "tclab.capture", "the block is still running", "read it after the with block"
            )
        return self._trace

    @cached_property
    def graphs(self) -> tuple[Graph, ...]:
        """Dynamo's graphs, in order."""
        return _graphs.graphs(self.trace, "dynamo")

    @cached_property
    def breaks(self) -> Breaks:
        """Graph breaks; `breaks.graphs` counts graphs of distinct code, without recompiles."""
        return _breaks.breaks(self.trace)

    @cached_property
    def guards(self) -> tuple[Guards, ...]:
        """The guards of each cache entry made."""
        return _guards.guards(self.trace)

    @cached_property
    def recompiles(self) -> Recompiles:
        """Recompiles, with the guards that failed."""
        return _recompiles.recompiles(self.trace)

    @cached_property
    def cuda_graph_skips(self) -> tuple[str, ...]:
        """Why no CUDA graph is recorded for a compile, where one was asked for."""
        reasons = (e.data.get("cudagraph_skip_reason") for e in self.trace.named(names.METRICS))
        return tuple(scrub(reason) for reason in reasons if reason)

    @cached_property
    def symbols(self) -> Symbols:
        """Symbols made for sizes and numbers."""
        return _recompiles.symbols(self.trace)

    @cached_property
    def bytecode(self) -> tuple[Listing, ...]:
        """Original and rewritten bytecode, two listings for each compile."""
        return tuple(pane for each in self._bytecode for pane in (each.original, each.rewritten))

    @cached_property
    def _bytecode(self) -> tuple[_bytecode.Rewritten, ...]:
        return _bytecode.bytecode(self.trace)

    @cached_property
    def pre_grad(self) -> tuple[Graph, ...]:
        """Graphs after Inductor's pre-grad passes."""
        return _graphs.graphs(self.trace, "pre_grad")

    @cached_property
    def joint(self) -> tuple[Graph, ...]:
        """AOTAutograd's joint graphs; none without gradients."""
        return _graphs.graphs(self.trace, "joint")

    @cached_property
    def forward(self) -> tuple[Graph, ...]:
        """AOTAutograd's forward graphs, inference graphs among them."""
        return _graphs.graphs(self.trace, "forward")

    @cached_property
    def backward(self) -> tuple[Graph, ...]:
        """AOTAutograd's backward graphs."""
        return _graphs.graphs(self.trace, "backward")

    @cached_property
    def partitions(self) -> tuple[Partition, ...]:
        """What the partitioner saved, had recomputed and banned, one for each backward graph."""
        return _partition.partitions(self.trace, self.forward, self.backward)

    @cached_property
    def post_grad(self) -> tuple[Graph, ...]:
        """Graphs after Inductor's post-grad passes: what is lowered."""
        return _graphs.graphs(self.trace, "post_grad")

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """What Inductor compiled of each graph after the post-grad passes."""
        return _units.units(self.trace, self.post_grad)

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
        """The scheduler's fusion decisions."""
        return _units.fusion(self.units)

    @cached_property
    def fusion_pairs(self) -> tuple[FusionPairs, ...]:
        """What was decided on each pair of scheduler nodes, and why, one for each graph."""
        return tuple(unit.pairs for unit in self.units if unit.pairs)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Generated kernels, and calls into libraries (category ``extern``)."""
        return tuple(kernel for unit in self.units for kernel in unit.kernels)

    @cached_property
    def wrapper(self) -> tuple[Listing, ...]:
        """The Python file Inductor wrote for each graph."""
        return tuple(unit.wrapper for unit in self.units if unit.wrapper)

    def compile_kernels(self) -> tuple[CompiledKernel, ...]:
        """Each Triton kernel with its stages down to SASS, compiled when first called for: as the
        GPU that is here launched it. None on a CPU. CaptureError where Triton cannot.
        """
        if not self._compiled:
            self._compile_units()
            self._compiled = True
        return tuple(kernel for unit in self.units for kernel in unit.compiled.values())

    def _compile_units(self) -> None:
        launched = {e.payload.strip(): e.data for e in self.trace.named(names.LAUNCHED)}
        compiler = triton.Compiler(torch.cuda.get_device_name() if launched else "")
        for unit in self.units:
            unit.compiled = compiler.as_launched(self._short_triton(unit), launched)

    def _short_triton(self, unit: Unit) -> dict[str, str]:
        return size_limit.within(unit.output.triton_sources(), self.most_lines)

    def left_out(self) -> dict[str, str]:
        """Kernels that are not taken down to instructions, being long or late: name → why."""
        return dict(size_limit.left_out(self.units, self.most_lines))

    def compile_candidates(self) -> Candidates:
        """What a target's GPU would choose among; nothing where the GPU is here, and has chosen."""
        return Candidates("Candidates", "candidates")

    @property
    def compiled(self) -> tuple[CompiledKernel, ...]:
        """What `compile_kernels` gives, under the name that recorded snippets have for it."""
        return self.compile_kernels()

    def stages(self, kernel_name: str) -> dict[str, Listing]:
        """ttir, ttgir, llir, ptx and sass of one Triton kernel, as `compile_kernels` makes them.
        KeyError names the kernels there are.
        """
        kernels = self.compile_kernels()
        for kernel in kernels:
            if kernel.name == kernel_name:
                return kernel.stages
        there = ", ".join(kernel.name for kernel in kernels) or "none"
        raise KeyError(f"no Triton kernel {kernel_name!r}; there are: {there}")

    def chains(self, *, machine_code: bool = True) -> tuple[Chain, ...]:
        """Each Dynamo graph's way through all stages, line linked to line; down to instructions,
        for which the kernels are compiled, unless `machine_code` is False.
        """
        if machine_code not in self._chains:
            self._chains[machine_code] = self._linked(machine_code)
        return self._chains[machine_code]

    def _linked(self, machine_code: bool) -> tuple[Chain, ...]:
        if machine_code:
            self.compile_kernels()
        bare = tuple(replace(unit, compiled={}) for unit in self.units)
        return chains(
            self.trace,
            {
                "dynamo": self.graphs,
                "joint": self.joint,
                "forward": self.forward,
                "backward": self.backward,
                "post_grad": self.post_grad,
            },
            self._bytecode,
            self.units if machine_code else bare,
            cpp_commands.commands(self.trace) if machine_code else {},
            self.most_lines,
        )

    @cached_property
    def times(self) -> Table:
        """Compile seconds by phase; the phases add up to the total."""
        return self.compile_time.table

    @cached_property
    def compile_time(self) -> CompileTime:
        """The numbers of `times`."""
        return _times.compile_time(self.trace)

    @cached_property
    def timeline(self) -> Chart:
        """When each phase of the compile began, and how long it took, in seconds."""
        return _times.timeline(self.trace)

    @cached_property
    def overview(self) -> Table:
        """How much of everything there was."""
        generated = [k for k in self.kernels if k.category != "extern"]
        rows = (
            ("Dynamo graphs", len(self.graphs)),
            ("graph breaks", len(self.breaks)),
            ("guards", sum(len(g) for g in self.guards)),
            ("recompiles", len(self.recompiles)),
            ("generated kernels", len(generated)),
            ("library calls", len(self.kernels) - len(generated)),
        )
        return Table("Overview of the compile", "overview", ("what", "count"), rows)
