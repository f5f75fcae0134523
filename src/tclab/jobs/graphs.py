"""Read the graphs that Inductor compiled from the log of one process, each with its kernels."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tclab.capturing.read.caching import INDUCTOR
from tclab.capturing.read.graphs import list_graph
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
_HIT = "fx_graph_cache_hit"
_ANSWERS = (_HIT, "fx_graph_cache_miss", "fx_graph_cache_bypass")
#: The record of a compile for which AOTAutograd's cache answered.
WHOLE_HIT = "aotautograd_cache_hit"


@dataclass(frozen=True)
class ReadGraph:
    """A graph of a job, and Inductor's compile of this graph as it was read from the log. `own` are
    the lines of Dynamo's graph if a cache answered: what the cache keeps names the lines of the
    program that compiled the graph first. It is None if this process compiled the graph.
    """

    graph: JobGraph
    unit: Unit
    own: frozenset[SourceLine] | None = None

    def names(self, line: SourceLine) -> bool:
        """Return whether a line of the compile is one of this job."""
        return self.own is None or line in self.own


def read_gpu(runnable: str) -> str:
    """Return the GPU that the text of a graph (``fx_graph_runnable``) names, or ''."""
    match = _DEVICE.search(runnable)
    return match["device"] if match else ""


def read_graphs(trace: Trace, lookups: Sequence[CacheLookup]) -> Iterator[ReadGraph]:
    """Yield each graph that Inductor compiled or loaded. Equal graphs are read once: a job compiles
    equal layers, and logs a graph again when a cache answers with it.
    """
    known: dict[tuple[bool, tuple[str, ...]], ReadGraph] = {}
    keys = iter([lookup.key for lookup in lookups if lookup.cache == INDUCTOR])
    part = ""
    traced = {event.compile_id: event for event in trace.select(_DYNAMO_GRAPH)}
    from_cache = {event.compile_id for event in trace.select(WHOLE_HIT)}
    for group, answer in _group_by_graph(trace):
        key = next(keys, "") if answer else ""
        if not group:  # the cache's answer for a graph that the log does not have
            continue
        if group[0].name == _PART_BEGINS:
            part = _read_part(group[0].payload)
            continue
        compile_id = group[0].compile_id
        above = traced.get(compile_id)
        events = [above, *group] if above else group
        is_hit = answer == _HIT or compile_id in from_cache
        shown = is_hit, tuple(event.payload for event in events)
        if shown not in known:
            own = frozenset(_read_lines(above)) if is_hit else None
            known[shown] = _read_graph(events, own)
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


def _group_by_graph(trace: Trace) -> Iterator[tuple[list[Event[Any]], str]]:
    """Yield the events of each graph that Inductor compiled, and the name of the cache's answer for
    this graph, or ''. In the log, the graph, its code, the nodes of its kernels and the cache's
    answer follow each other. A compile that failed, or whose cache is off, has no answer.
    """
    group: list[Event[Any]] = []
    for event in trace.select(_PART_BEGINS, _GRAPH, _CODE, names.KERNEL_NODES, *_ANSWERS):
        if event.name == _PART_BEGINS:
            if group:
                yield group, ""
            yield [event], ""
            group = []
            continue
        if event.name in _ANSWERS:
            of_group = bool(group) and event.compile_id == group[0].compile_id
            if group and not of_group:
                yield group, ""
            yield (group if of_group else []), event.name
            group = []
            continue
        begins = event.name == _GRAPH or event.name in {each.name for each in group}
        if group and (begins or event.compile_id != group[0].compile_id):
            yield group, ""
            group = []
        if group or event.name in (_GRAPH, _CODE):
            group.append(event)
    if group:
        yield group, ""


def _read_lines(dynamo: Event[Any] | None) -> Iterable[SourceLine]:
    """Return the lines that Dynamo's graph of a compile names."""
    return list_graph(dynamo.payload, "dynamo")[1].values() if dynamo else ()


def _read_graph(events: Sequence[Event[Any]], own: frozenset[SourceLine] | None) -> ReadGraph:
    """Read a graph; of its lines, only those in `own` unless that is None."""
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
    if own is not None:
        kernels = {name: _keep(found, own) for name, found in read.kernels.items()}
        read = replace(read, kernels=kernels, lines=_keep(read.lines, own))
    return ReadGraph(read, unit, own)


def _keep(lines: Iterable[SourceLine], own: frozenset[SourceLine]) -> tuple[SourceLine, ...]:
    return tuple(line for line in lines if line in own)


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
