"""Read the graphs that Inductor compiled from the log of one process, each with its kernels."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tclab.capturing.read.caching import INDUCTOR
from tclab.capturing.read.stages import Stages
from tclab.capturing.read.units import Unit
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.model import CacheLookup, Graph, JobGraph, Kernel, SourceLine, source_lines

# # kernel path: /tmp/torchinductor_reader/de/cdekynprjpa3uawgtwphdw5pa4iq6gxp5r7gzfhq4q.py
_KERNEL_PATH = re.compile(r"^# kernel path: \S*?(?P<name>\w+)\.py$")
# triton_poi_fused_relu_0 = async_compile.triton('triton_poi_fused_relu_0', '''
_DEFINITION = re.compile(r"^(?P<name>\w+) = async_compile\.")
# # GPU Hardware Info: \n# NVIDIA H200 : 2
_DEVICE = re.compile(r"^# GPU Hardware Info: \n# (?P<device>[^\n]+?) : \d+", re.MULTILINE)
#: The events of a graph that Inductor compiled, in their order.
_GRAPH, _CODE = "inductor_post_grad_graph", "inductor_output_code"
#: The record with which vLLM begins the compile of a part of the model.
_PART_BEGINS = "vllm_piecewise_compile_start"
#: The event of Dynamo's graph of the same compile.
_DYNAMO_GRAPH = "dynamo_output_graph"
_ANSWERS = ("fx_graph_cache_hit", "fx_graph_cache_miss", "fx_graph_cache_bypass")


@dataclass(frozen=True)
class ReadGraph:
    """A graph of a job, and Inductor's compile of this graph as it was read from the log."""

    graph: JobGraph
    unit: Unit


def read_gpu(runnable: str) -> str:
    """Return the GPU that the text of a graph (``fx_graph_runnable``) names, or ''."""
    match = _DEVICE.search(runnable)
    return match["device"] if match else ""


def read_graphs(trace: Trace, lookups: Sequence[CacheLookup]) -> Iterator[ReadGraph]:
    """Yield each graph that Inductor compiled or loaded. Equal graphs are read once: a job compiles
    equal layers, and logs a graph again when a cache answers with it.
    """
    known: dict[tuple[str, ...], ReadGraph] = {}
    keys = iter([lookup.key for lookup in lookups if lookup.cache == INDUCTOR])
    part = ""
    traced = {event.compile_id: event for event in trace.select(_DYNAMO_GRAPH)}
    for group, answered in _group_by_graph(trace):
        key = next(keys, "") if answered else ""
        if not group:  # the cache's answer for a graph that the log does not have
            continue
        if group[0].name == _PART_BEGINS:
            part = _read_part(group[0].payload)
            continue
        compile_id = group[0].compile_id
        above = traced.get(compile_id)
        events = [above, *group] if above else group
        shown = tuple(event.payload for event in events)
        if shown not in known:
            known[shown] = _read_graph(events)
        read = known[shown]
        named = replace(read.graph, compile_id=compile_id, key=key, part=part)
        yield replace(read, graph=named)
        part = ""


def _read_part(payload: str) -> str:
    """Return how vLLM names the graph that follows in the log: ``submod_3, sizes 1 to 8192``."""
    try:
        data = json.loads(payload)
        name, first, last = (
            data[key] for key in ("submod_name", "compile_range_start", "compile_range_end")
        )
    except (ValueError, TypeError, KeyError):
        return ""
    sizes = f"size {first}" if first == last else f"sizes {first} to {last}"
    return f"{name}, {sizes}"


def _group_by_graph(trace: Trace) -> Iterator[tuple[list[Event[Any]], bool]]:
    """Yield the events of each graph that Inductor compiled, and whether the cache answered for
    this graph. In the log, the graph, its code, the nodes of its kernels and the cache's answer
    follow each other. A compile that failed, or whose cache is off, has no answer.
    """
    group: list[Event[Any]] = []
    for event in trace.select(_PART_BEGINS, _GRAPH, _CODE, names.KERNEL_NODES, *_ANSWERS):
        if event.name == _PART_BEGINS:
            if group:
                yield group, False
            yield [event], False
            group = []
            continue
        if event.name in _ANSWERS:
            of_group = bool(group) and event.compile_id == group[0].compile_id
            if group and not of_group:
                yield group, False
            yield (group if of_group else []), True
            group = []
            continue
        begins = event.name == _GRAPH or event.name in {each.name for each in group}
        if group and (begins or event.compile_id != group[0].compile_id):
            yield group, False
            group = []
        if group or event.name in (_GRAPH, _CODE):
            group.append(event)
    if group:
        yield group, False


def _read_graph(events: Sequence[Event[Any]]) -> ReadGraph:
    alone = Stages(Trace([*events]))
    (unit,) = alone.units
    generated = [kernel for kernel in unit.kernels if kernel.category != "extern"]
    codes = [event.payload for event in alone.trace.select(_CODE)]
    graph = unit.output.graph
    lines = (node.source for node in graph.nodes if node.source) if graph is not None else ()
    by_name = _lines_by_name([*alone.graphs, *alone.post_grad])
    read = JobGraph(
        compile_id=unit.compile_id,
        direction=unit.direction,
        kernels={
            kernel.kernel_name: _lines_of_kernel(kernel, unit, by_name) for kernel in generated
        },
        files=dict(_read_kernel_files("".join(codes))),
        library_calls=len(unit.kernels) - len(generated),
        lines=tuple(dict.fromkeys(lines)),
    )
    return ReadGraph(read, unit)


def _lines_by_name(graphs: Sequence[Graph]) -> dict[str, SourceLine]:
    """Map the names of the nodes to their lines. A name is left out if its lines differ between the
    graphs.
    """
    lines: dict[str, set[SourceLine]] = defaultdict(set)
    for node in (node for graph in graphs for node in graph.nodes):
        if node.source:
            lines[node.name].add(node.source)
    return {name: found.pop() for name, found in lines.items() if len(found) == 1}


def _lines_of_kernel(
    kernel: Kernel, unit: Unit, by_name: Mapping[str, SourceLine]
) -> tuple[SourceLine, ...]:
    """Return the lines that a kernel computes in all of its calls. The kernel's definition names
    only the lines of the first call.
    """
    calls = unit.output.calls_to(kernel.kernel_name)
    named = (name for call in calls for name in unit.output.sources_of_call(call))
    lines = {*kernel.source_lines, *(by_name[name] for name in named if name in by_name)}
    return tuple(sorted(lines, key=lambda line: (line.file, line.line)))


def _read_kernel_files(code: str) -> Iterator[tuple[str, str]]:
    """Yield (name of a kernel's file, name of the kernel that is defined next)."""
    file = ""
    for line in source_lines(code):
        if path := _KERNEL_PATH.match(line):
            file = path["name"]
        elif file and (definition := _DEFINITION.match(line)):
            yield file, definition["name"]
            file = ""
