"""Build one Chain for each Dynamo graph: all stages, from the Python lines to the instructions."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from tclab.capturing.chain.facts import collect_facts
from tclab.capturing.chain.graphs import bytecode_panes, graph_pane, python_panes
from tclab.capturing.chain.inductor import ir_pane, kernel_pane
from tclab.capturing.chain.machine import machine_panes
from tclab.capturing.chain.resolve import Origins
from tclab.capturing.machine_code import cpp, size_limit
from tclab.capturing.machine_code.cpp import Assembly
from tclab.capturing.read.bytecode import FrameBytecode
from tclab.capturing.read.runs import compiles_with_several_sizes, runs_in_first_call
from tclab.capturing.read.units import Unit
from tclab.capturing.torch_private.cpp_commands import Commands
from tclab.capturing.trace.events import Trace
from tclab.model import STAGES, Chain, Graph, Kernel, Listing, links

#: Stage → the graphs of this stage that the capture shows, in order.
Graphs = Mapping[str, Sequence[Graph]]


def build_chains(
    trace: Trace,
    graphs: Graphs,
    bytecode: Sequence[FrameBytecode],
    units: Sequence[Unit],
    commands: Commands,
    most_lines: int | None = None,
) -> tuple[Chain, ...]:
    """Build the chain of each graph of the stage ``dynamo``, in order.

    The panes are the user's Python functions, the bytecode, the graphs of each stage, the IR after
    fusion, the calls of library kernels, and the generated kernels. A C++ kernel that one of
    `commands` compiles has a pane with its instructions; a compiled Triton kernel has panes for the
    stages down to SASS. Forward and backward are in the same chain.
    """
    builder = _ChainBuilder(
        graphs,
        bytecode,
        units,
        Origins.read(trace),
        commands,
        most_lines,
        runs_in_first_call(trace),
        compiles_with_several_sizes(trace),
    )
    return tuple(builder.build(graph, index) for index, graph in enumerate(graphs["dynamo"]))


@dataclass(frozen=True)
class _ChainBuilder:
    """The parts of a capture from which its chains are built."""

    graphs: Graphs
    bytecode: Sequence[FrameBytecode]
    units: Sequence[Unit]
    origins: Origins
    commands: Commands
    most_lines: int | None
    #: Compile id → the number of its runs in the first call; None if they were not counted.
    runs: Mapping[str, int] | None = None
    several_sizes: Container[str] = ()
    #: Kernel source → assembly. It is a cache, because many graphs can have the same kernel.
    assembled: dict[str, Assembly | None] = field(default_factory=dict)

    def build(self, graph: Graph, index: int) -> Chain:
        """Build the chain of the Dynamo graph number `index`."""
        panes = bytecode_panes(self.bytecode, graph.compile_id)
        panes += self._graph_panes(graph)
        for unit in self.units:
            if unit.compile_id == graph.compile_id:
                panes += _unit_panes(unit, self.origins, _assemble_kernels(unit, self))
        used = {key for pane in panes for keys in pane.links.values() for key in keys}
        panes += python_panes(self._list_stacks(graph.compile_id), used)
        # the sort is stable, so panes of one stage keep their order
        panes.sort(key=lambda pane: STAGES.index(pane.stage))
        name = f"chain-{index}" if index else "chain"
        title = f"From Python to the machine, {graph.title}"
        runs = 1 if self.runs is None else self.runs.get(graph.compile_id, 0)
        several = graph.compile_id in self.several_sizes
        boundary = None if several else self._boundary(graph.compile_id)
        kept = _drop_dangling_keys(panes)
        return Chain(title, name, kept, graph.compile_id, runs, boundary, several)

    def _boundary(self, compile_id: str) -> int | None:
        """Sum the bytes that forward and backward read and write. A unit with alternative kernels
        is skipped, because it follows the unit of the same graph.
        """
        known: dict[str, int | None] = {}
        for unit in self.units:
            if unit.compile_id == compile_id:
                known.setdefault(unit.direction, unit.boundary)
        sizes = [size for size in known.values() if size is not None]
        return sum(sizes) if sizes and len(sizes) == len(known) else None

    def _graph_panes(self, dynamo: Graph) -> Iterator[Listing]:
        """Yield the panes of the graphs of one compile; `dynamo` is the only one of Dynamo's graphs
        that is included.
        """
        for stage_graphs in self.graphs.values():
            for index, graph in enumerate(stage_graphs):
                is_other = graph.stage == dynamo.stage and graph is not dynamo
                if graph.compile_id == dynamo.compile_id and not is_other:
                    yield graph_pane(graph, index, self.origins)

    def _list_stacks(self, compile_id: str) -> Iterator[str]:
        for graph in self.origins.shown_graphs.values():
            if graph.compile_id == compile_id:
                yield from (node.stack for node in graph.note.nodes if node.stack)


def _drop_dangling_keys(panes: list[Listing]) -> tuple[Listing, ...]:
    """Return the panes without the links that lead nowhere, and without the marks to which no link
    leads.
    """
    marked = {key for pane in panes for keys in pane.marks.values() for key in keys}
    used = {key for pane in panes for keys in pane.links.values() for key in keys}
    return tuple(
        replace(pane, links=_keep_keys(pane.links, marked), marks=_keep_keys(pane.marks, used))
        for pane in panes
    )


def _keep_keys(lines: Mapping[int, links.Keys], keys: set[str]) -> dict[int, links.Keys]:
    kept = {line: tuple(k for k in own if k in keys) for line, own in lines.items()}
    return {line: own for line, own in kept.items() if own}


# ------------------------------------------------------------------------------ units


def _unit_panes(
    unit: Unit, origins: Origins, assemblies: Mapping[str, Assembly]
) -> Iterator[Listing]:
    if unit.ir is not None:
        yield ir_pane(unit.ir, unit, origins)
    for index, kernel in enumerate(unit.kernels):
        if kernel.category == "extern":
            yield kernel
        else:
            assembly = assemblies.get(kernel.kernel_name)
            yield from _kernel_panes(kernel, unit, index, assembly, origins)


def _kernel_panes(
    kernel: Kernel, unit: Unit, index: int, assembly: Assembly | None, origins: Origins
) -> Iterator[Listing]:
    """Yield the pane of a kernel with its facts, then the panes of its machine code."""
    kernel_facts = collect_facts(kernel, unit)
    if assembly:
        kernel_facts = replace(kernel_facts, instructions=assembly.instructions)
    yield kernel_pane(replace(kernel, facts=kernel_facts), unit, index, origins)
    if compiled := unit.compiled.get(kernel.kernel_name):
        yield from machine_panes(compiled, unit.index, index)
    if assembly:
        yield cpp.assembly_pane(kernel.kernel_name, assembly, unit.index, index)


def _assemble_kernels(unit: Unit, builder: _ChainBuilder) -> dict[str, Assembly]:
    """Assemble the C++ kernels of a unit within the size limit; return the assembly by kernel
    name.
    """
    sources = size_limit.sources_to_assemble(unit.output.cpp_sources(), builder.most_lines)
    new = [s for s in dict.fromkeys(sources.values()) if s not in builder.assembled]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        assemblies = pool.map(partial(cpp.assemble, commands=builder.commands), new)
        builder.assembled.update(zip(new, assemblies))
    by_name = {name: builder.assembled[source] for name, source in sources.items()}
    return {name: assembly for name, assembly in by_name.items() if assembly}
