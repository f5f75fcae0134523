"""Define the stages of a compile that can be read from its trace alone, without PyTorch."""

from __future__ import annotations

from functools import cached_property

from tclab.capturing.read import breaks as _breaks
from tclab.capturing.read import frames as _frames
from tclab.capturing.read import graphs as _graphs
from tclab.capturing.read import guards as _guards
from tclab.capturing.read import recompiles as _recompiles
from tclab.capturing.read import times as _times
from tclab.capturing.read import units as _units
from tclab.capturing.read.units import Unit
from tclab.capturing.trace.events import Trace
from tclab.model import Breaks, CompileTime, Graph, Guards, Kernel, Recompiles, Symbols


class Stages:
    """The stages of a trace, each read on its first use."""

    def __init__(self, trace: Trace | None = None) -> None:
        self._trace = trace

    @property
    def trace(self) -> Trace:
        """The events of the compile."""
        return self._trace or Trace()

    @cached_property
    def graphs(self) -> tuple[Graph, ...]:
        """Dynamo's graphs, in order."""
        return _graphs.read_graphs(self.trace, "dynamo")

    @cached_property
    def breaks(self) -> Breaks:
        """Graph breaks; `breaks.graphs` counts graphs of distinct code, without recompiles."""
        return _breaks.read_breaks(self.trace)

    @cached_property
    def guards(self) -> tuple[Guards, ...]:
        """The guards of each new cache entry."""
        return _guards.read_guards(self.trace)

    @cached_property
    def recompiles(self) -> Recompiles:
        """Recompiles, with the guards that failed."""
        return _recompiles.read_recompiles(self.trace)

    @cached_property
    def cuda_graph_skips(self) -> tuple[str, ...]:
        """The reasons why Inductor records no CUDA graph for compiles that asked for one."""
        return _frames.cuda_graph_skips(self.trace)

    @cached_property
    def symbols(self) -> Symbols:
        """The symbols that Dynamo created for sizes and numbers."""
        return _recompiles.read_symbols(self.trace)

    @cached_property
    def joint(self) -> tuple[Graph, ...]:
        """AOTAutograd's joint graphs; none without gradients."""
        return _graphs.read_graphs(self.trace, "joint")

    @cached_property
    def forward(self) -> tuple[Graph, ...]:
        """AOTAutograd's forward graphs, inference graphs among them."""
        return _graphs.read_graphs(self.trace, "forward")

    @cached_property
    def backward(self) -> tuple[Graph, ...]:
        """AOTAutograd's backward graphs."""
        return _graphs.read_graphs(self.trace, "backward")

    @cached_property
    def post_grad(self) -> tuple[Graph, ...]:
        """Graphs after Inductor's post-grad passes, which Inductor lowers."""
        return _graphs.read_graphs(self.trace, "post_grad")

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Inductor's compile of each post-grad graph, without the operations and bytes of its
        kernels, which only PyTorch can count.
        """
        return _units.read_units(self.trace, self.post_grad, count_work=False)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Generated kernels, and calls into libraries (category ``extern``)."""
        return tuple(kernel for unit in self.units for kernel in unit.kernels)

    @property
    def likely_kernels(self) -> tuple[Kernel, ...]:
        """The kernels, except those that a GPU runs only if it finds an unlikely answer by
        timing.
        """
        return tuple(kernel for kernel in self.kernels if not kernel.facts.is_alternative)

    @cached_property
    def compile_time(self) -> CompileTime:
        """Compile seconds by phase, as numbers."""
        return _times.read_compile_time(self.trace)
