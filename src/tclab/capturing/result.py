"""`Capture`: everything a compile went through, read from its trace when it is asked for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch

from tclab.capturing.chain.chains import chains
from tclab.capturing.machine_code import triton
from tclab.capturing.read import breaks as _breaks
from tclab.capturing.read import bytecode as _bytecode
from tclab.capturing.read import graphs as _graphs
from tclab.capturing.read import guards as _guards
from tclab.capturing.read import recompiles as _recompiles
from tclab.capturing.read import times as _times
from tclab.capturing.read import units as _inductor
from tclab.capturing.trace.events import Trace
from tclab.errors import CaptureError
from tclab.model import Breaks, Chain, Graph, Guards, Kernel, Listing, Recompiles, Symbols, Table


class Capture:
    """Everything a compile went through, as artifacts of `tclab.model`.

    Each stage is read from the trace when it is first asked for. All text is free of absolute
    paths and of what differs from process to process. Frames are numbered from 0 in the order
    this capture met them, so ``1/0`` is the first compile of the second piece of code.
    """

    def __init__(self, trace: Trace | None = None, results: tuple[Any, ...] = ()) -> None:
        self._trace = trace
        self.results = results  #: what each call returned

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
    def symbols(self) -> Symbols:
        """Symbols made for sizes and numbers."""
        return _recompiles.symbols(self.trace)

    @cached_property
    def bytecode(self) -> tuple[Listing, ...]:
        """Original and rewritten bytecode, two listings for each compile."""
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
    def post_grad(self) -> tuple[Graph, ...]:
        """Graphs after Inductor's post-grad passes: what is lowered."""
        return _graphs.graphs(self.trace, "post_grad")

    @cached_property
    def ir_pre_fusion(self) -> tuple[Listing, ...]:
        """Inductor's IR before fusion."""
        return _inductor.ir(self.trace, fused=False)

    @cached_property
    def ir(self) -> tuple[Listing, ...]:
        """Inductor's IR after fusion."""
        return _inductor.ir(self.trace, fused=True)

    @cached_property
    def fusion(self) -> Listing:
        """The scheduler's fusion decisions."""
        return _inductor.fusion(self.trace)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Generated kernels, and calls into libraries (category ``extern``)."""
        return _inductor.all_kernels(self.trace)

    @cached_property
    def compiled_units(self) -> tuple[triton.Compiled, ...]:
        """For each graph Inductor compiled, its Triton kernels as the GPU that is here launched
        them, with their stages down to SASS, by name. Empty on a CPU.
        """
        launched = {e.payload.strip(): e.data for e in self.trace.named("launched")}
        gpu = torch.cuda.get_device_name() if launched else ""
        codes = [unit.code for unit in _inductor.units(self.trace) if unit.done]
        return tuple(triton.as_launched(code, launched, gpu) for code in codes)

    @property
    def compiled(self) -> tuple[triton.CompiledKernel, ...]:
        """Each Triton kernel with its stages down to SASS; compiled when first asked for."""
        return tuple(kernel for unit in self.compiled_units for kernel in unit.values())

    def stages(self, kernel_name: str) -> dict[str, Listing]:
        """ttir, ttgir, llir, ptx and sass of one kernel. KeyError names the kernels there are."""
        for kernel in self.compiled:
            if kernel.name == kernel_name:
                return kernel.stages
        there = ", ".join(k.name for k in self.compiled) or "none"
        raise KeyError(f"no Triton kernel {kernel_name!r}; there are: {there}")

    @cached_property
    def wrapper(self) -> tuple[Listing, ...]:
        """The Python file Inductor wrote for each graph."""
        return _inductor.wrapper(self.trace)

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """Each Dynamo graph's way through all stages, line linked to line."""
        return chains(self)

    @cached_property
    def times(self) -> Table:
        """Compile seconds by phase; the phases add up to the total."""
        return _times.times(self.trace)

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
