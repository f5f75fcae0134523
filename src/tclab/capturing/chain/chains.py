"""One Chain for each Dynamo graph: every stage, from the Python lines to the instructions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from tclab.capturing.chain.facts import facts
from tclab.capturing.chain.graphs import bytecode_panes, graph_pane, python_panes
from tclab.capturing.chain.inductor import ir_pane, kernel_pane
from tclab.capturing.chain.machine import machine_panes
from tclab.capturing.chain.resolve import Notes
from tclab.capturing.machine_code import cpp
from tclab.capturing.machine_code.cpp import Assembly
from tclab.capturing.machine_code.triton import Compiled
from tclab.capturing.read import output_code, units
from tclab.capturing.trace.events import Trace
from tclab.model import STAGES, Chain, Graph, Kernel, Listing

_MOST_ASSEMBLED = 40  # C++ kernels of a graph: each takes the compiler a second
_GRAPHS = ("dynamo", "joint", "forward", "backward", "post_grad")


class Captured(Protocol):
    """What a chain is made of: the stages of one capture."""

    @property
    def trace(self) -> Trace: ...
    @property
    def graphs(self) -> tuple[Graph, ...]: ...
    @property
    def bytecode(self) -> tuple[Listing, ...]: ...
    @property
    def ir(self) -> tuple[Listing, ...]: ...
    @property
    def kernels(self) -> tuple[Kernel, ...]: ...
    @property
    def compiled_units(self) -> tuple[Compiled, ...]: ...


def chains(capture: Captured) -> tuple[Chain, ...]:
    """The chain of each Dynamo graph, in order.

    Panes: the Python functions that took part, bytecode, the graphs of each stage, the IR after
    fusion, calls into libraries, each kernel; of a C++ kernel the instructions; with a target or
    a GPU, also what Triton makes of each kernel down to SASS. Forward and backward stand side by
    side in the same chain.
    """
    notes = Notes.read(capture.trace)
    units = list(_units(capture))
    return tuple(
        _chain(capture, graph, index, notes, [u for u in units if u.compile_id == graph.compile_id])
        for index, graph in enumerate(capture.graphs)
    )


def _chain(capture: Captured, graph: Graph, index: int, notes: Notes, units: list[_Unit]) -> Chain:
    panes = bytecode_panes(capture.trace, capture.bytecode, graph.compile_id)
    for stage in _GRAPHS:
        for i, found in enumerate(getattr(capture, "graphs" if stage == "dynamo" else stage)):
            if found.compile_id == graph.compile_id and (stage != "dynamo" or i == index):
                panes.append(graph_pane(found, i, notes))
    for unit in units:
        panes += _unit_panes(unit, notes)
    used = {key for pane in panes for keys in pane.links.values() for key in keys}
    panes += python_panes(_stacks(notes, graph.compile_id), used)
    panes.sort(key=lambda pane: STAGES.index(pane.stage))  # a stable sort
    name = f"chain-{index}" if index else "chain"
    return Chain(f"From Python to the machine, {graph.title}", name, _closed(panes),
                 graph.compile_id)  # fmt: skip


def _stacks(notes: Notes, compile_id: str) -> Iterator[str]:
    for shown in notes.shown.values():
        if shown.compile_id == compile_id:
            yield from (node.stack for node in shown.note.nodes if node.stack)


def _closed(panes: list[Listing]) -> tuple[Listing, ...]:
    """The panes without links that lead nowhere and without marks nothing links to."""
    marked = {key for pane in panes for keys in pane.marks.values() for key in keys}
    used = {key for pane in panes for keys in pane.links.values() for key in keys}
    return tuple(
        replace(pane, links=_only(pane.links, marked), marks=_only(pane.marks, used))
        for pane in panes
    )


def _only(lines: Mapping[int, tuple[str, ...]], keys: set[str]) -> dict[int, tuple[str, ...]]:
    kept = {line: tuple(k for k in several if k in keys) for line, several in lines.items()}
    return {line: several for line, several in kept.items() if several}


# ------------------------------------------------------------------------------ units


@dataclass(frozen=True)
class _Unit:
    """What Inductor made of one graph."""

    index: int
    compile_id: str
    ir: Listing | None
    kernels: tuple[Kernel, ...]
    compiled: Compiled
    sources: Mapping[str, str]  # of C++ kernels, by name
    fusion: tuple[str, ...]  # what the scheduler said of its decisions

    def assemblies(self) -> dict[str, Assembly]:
        """The instructions of each C++ kernel, as far as they can be had, by name."""
        some = dict(islice(self.sources.items(), _MOST_ASSEMBLED))
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            made = pool.map(cpp.assemble, some.values())
            return {name: found for name, found in zip(some, made) if found}


def _units(capture: Captured) -> Iterator[_Unit]:
    listings = iter(capture.ir)
    shown = iter(capture.kernels)
    below = iter(capture.compiled_units)
    for unit in units.units(capture.trace):
        count = len(output_code.kernels(unit.code, unit.nodes, None)) if unit.done else 0
        own = tuple(kernel for _, kernel in zip(range(count), shown))
        ir = next(listings, None) if unit.post_fusion else None
        compiled = next(below, {}) if unit.done else {}
        sources = output_code.cpp_sources(unit.code)
        yield _Unit(unit.index, unit.compile_id, ir, own, compiled, sources, tuple(unit.fusion))


def _unit_panes(unit: _Unit, notes: Notes) -> Iterable[Listing]:
    if unit.ir is not None:
        yield ir_pane(unit.ir, unit.index, notes)
    assemblies = unit.assemblies()
    for index, kernel in enumerate(unit.kernels):
        if kernel.category == "extern":
            yield kernel
            continue
        below = unit.compiled.get(kernel.kernel_name)
        told = facts(kernel, unit.index, unit.fusion, below, notes)
        assembly = assemblies.get(kernel.kernel_name)
        if assembly:
            told["instructions"] = f"{assembly.instructions:,}"
        yield kernel_pane(replace(kernel, facts=told), unit.index, index, notes)
        if below:
            yield from machine_panes(unit.index, index, below.source, below.stages,
                                     below.ptx_lines)  # fmt: skip
        if assembly:
            yield cpp.pane(kernel.kernel_name, assembly, unit.index, index)
