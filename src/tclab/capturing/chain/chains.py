"""One Chain for each Dynamo graph: every stage, from the Python lines to the instructions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from tclab.capturing.chain.facts import facts
from tclab.capturing.chain.graphs import bytecode_panes, graph_pane, python_panes
from tclab.capturing.chain.inductor import ir_pane, kernel_pane
from tclab.capturing.chain.machine import machine_panes
from tclab.capturing.chain.resolve import Origins
from tclab.capturing.machine_code import cpp, size_limit
from tclab.capturing.machine_code.cpp import Assembly
from tclab.capturing.read.bytecode import Rewritten
from tclab.capturing.read.units import Unit
from tclab.capturing.torch_private.cpp_commands import Commands
from tclab.capturing.trace.events import Trace
from tclab.model import STAGES, Chain, Graph, Kernel, Listing, links

#: Stage → the graphs of it that the capture shows, in order.
Graphs = Mapping[str, Sequence[Graph]]


def chains(
    trace: Trace,
    graphs: Graphs,
    bytecode: Sequence[Rewritten],
    units: Sequence[Unit],
    commands: Commands,
    most_lines: int | None = None,
) -> tuple[Chain, ...]:
    """The chain of each graph of the stage ``dynamo``, in order.

    Panes: the Python functions that took part, bytecode, the graphs of each stage, the IR after
    fusion, calls into libraries, each kernel; of a C++ kernel the instructions, where one of the
    `commands` compiles it; of a Triton kernel that was compiled, its stages down to SASS. Forward
    and backward stand side by side in the same chain.
    """
    captured = _Captured(graphs, bytecode, units, Origins.read(trace), commands, most_lines)
    return tuple(captured.chain(graph, index) for index, graph in enumerate(graphs["dynamo"]))


@dataclass(frozen=True)
class _Captured:
    """What the chains of a capture are made of."""

    graphs: Graphs
    bytecode: Sequence[Rewritten]
    units: Sequence[Unit]
    origins: Origins
    commands: Commands
    most_lines: int | None
    #: By source: graph after graph may have the same kernel.
    assembled: dict[str, Assembly | None] = field(default_factory=dict)

    def chain(self, graph: Graph, index: int) -> Chain:
        """The chain of the Dynamo graph number `index`."""
        panes = bytecode_panes(self.bytecode, graph.compile_id)
        panes += self._graph_panes(graph)
        for unit in self.units:
            if unit.compile_id == graph.compile_id:
                panes += _unit_panes(unit, self.origins, _assemblies(unit, self))
        used = {key for pane in panes for keys in pane.links.values() for key in keys}
        panes += python_panes(self._stacks(graph.compile_id), used)
        panes.sort(key=lambda pane: STAGES.index(pane.stage))  # a stable sort
        name = f"chain-{index}" if index else "chain"
        title = f"From Python to the machine, {graph.title}"
        return Chain(title, name, _closed(panes), graph.compile_id)

    def _graph_panes(self, dynamo: Graph) -> Iterator[Listing]:
        """The graphs of one compile; of those of Dynamo, which may have begun again, one."""
        for several in self.graphs.values():
            for index, graph in enumerate(several):
                other = graph.stage == dynamo.stage and graph is not dynamo
                if graph.compile_id == dynamo.compile_id and not other:
                    yield graph_pane(graph, index, self.origins)

    def _stacks(self, compile_id: str) -> Iterator[str]:
        for graph in self.origins.shown_graphs.values():
            if graph.compile_id == compile_id:
                yield from (node.stack for node in graph.note.nodes if node.stack)


def _closed(panes: list[Listing]) -> tuple[Listing, ...]:
    """The panes without links that lead nowhere and without marks nothing links to."""
    marked = {key for pane in panes for keys in pane.marks.values() for key in keys}
    used = {key for pane in panes for keys in pane.links.values() for key in keys}
    return tuple(
        replace(pane, links=_only(pane.links, marked), marks=_only(pane.marks, used))
        for pane in panes
    )


def _only(lines: Mapping[int, links.Keys], keys: set[str]) -> dict[int, links.Keys]:
    remaining = {line: tuple(k for k in several if k in keys) for line, several in lines.items()}
    return {line: several for line, several in remaining.items() if several}


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
    """A kernel with its facts, and what is below it."""
    known = facts(kernel, unit)
    if assembly:
        known = replace(known, instructions=assembly.instructions)
    yield kernel_pane(replace(kernel, facts=known), unit, index, origins)
    if compiled := unit.compiled.get(kernel.kernel_name):
        yield from machine_panes(compiled, unit.index, index)
    if assembly:
        yield cpp.pane(kernel.kernel_name, assembly, unit.index, index)


def _assemblies(unit: Unit, captured: _Captured) -> dict[str, Assembly]:
    """The instructions of each C++ kernel, as far as they can be had, by name."""
    sources = size_limit.assembled(unit.output.cpp_sources(), captured.most_lines)
    new = [each for each in dict.fromkeys(sources.values()) if each not in captured.assembled]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        made = pool.map(partial(cpp.assemble, commands=captured.commands), new)
        captured.assembled.update(zip(new, made))
    known = {name: captured.assembled[source] for name, source in sources.items()}
    return {name: assembly for name, assembly in known.items() if assembly}
