"""Read the stages of each compile of a process: its graphs, its kernels, its output code and its
guards, linked as far as the log says what belongs together.

A log says which line each node of a graph comes from, and which nodes a kernel computes. It does
not say which node of the previous graph a node was made from. So nodes are linked to lines, and
kernels to nodes, or to lines if their nodes are not known.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tclab.capturing.read.frames import frames_by_compile
from tclab.capturing.read.graphs import EVENTS, list_graph
from tclab.capturing.read.guards import read_guards
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.jobs.graphs import WHOLE_HIT, ReadGraph
from tclab.model import (
    STAGES,
    Chain,
    Graph,
    Guards,
    JobProcess,
    JobStages,
    Kernel,
    Listing,
    SourceLine,
    links,
    process_label,
    slug,
    source_lines,
)

#: The stages whose graphs come from events of their own. Inductor's graphs come with its kernels.
_GRAPH_STAGES = ("dynamo", "forward", "backward")
_GUARDS = "dynamo_cpp_guards_str"
#: Said of a graph that a cache answered for: its comments stay as they are.
_OF_THE_CACHE = ", from a cache: its comments name the lines of the program that compiled it first"
#: Two known lines of a function are shown apart if there are more unknown lines than this between
#: them.
_MOST_UNKNOWN_LINES = 3
# def triton_poi_fused_relu_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
# extern "C"  void  kernel(const float* in_ptr0,
_SIGNATURE = re.compile(r'^(def \w+\(|extern "C"|.*\bvoid +kernel\()')

#: The user's lines, each by its file and number.
Lines = dict[tuple[str, int], SourceLine]


def read_stages(trace: Trace, graphs: Sequence[ReadGraph]) -> Iterator[JobStages]:
    """Yield the stages of each compile, in the order in which they began. `graphs` are the graphs
    that Inductor compiled or loaded.
    """
    frames = frames_by_compile(trace)
    guards = _guards_by_compile(trace)
    events = _graph_events_by_compile(trace)
    read: dict[str, list[ReadGraph]] = defaultdict(list)
    for graph in graphs:
        read[graph.graph.compile_id].append(graph)
    from_cache = {event.compile_id for event in trace.select(WHOLE_HIT)}
    for compile_id in dict.fromkeys([*events, *read]):
        frame = frames.get(compile_id)
        title = f"{frame.function}, {frame.location}" if frame else "a frame"
        own_events, is_kept = events.get(compile_id, []), compile_id in from_cache
        panes, lines = _read_panes(own_events, read[compile_id], is_kept)
        yield JobStages(
            title=title,
            compiles=(compile_id,),
            chain=Chain("", "chain", link_panes(panes, lines), compile_id),
            guards=tuple(guards.get(compile_id, ())),
            output_code=tuple(_output_code(read[compile_id])),
        )


def merge_stages(processes: Iterable[tuple[JobProcess, Sequence[JobStages]]]) -> list[JobStages]:
    """Return the stages of all compiles of several processes; compiles whose graphs and kernels are
    equal are merged, and keep each guard list that differs.
    """
    merged: dict[tuple[str, ...], JobStages] = {}
    of_all = [(process, each) for process, stages in processes for each in stages]
    several = len({process.name for process, _ in of_all}) > 1
    for process, stages in of_all:
        named = stages
        if several:
            label = process_label(process)
            compiles = tuple(f"{label}: {each}" for each in stages.compiles)
            named = replace(stages, compiles=compiles)
        key = tuple(pane.code for pane in stages.chain.panes)
        old = merged.get(key)
        merged[key] = _add_compile(old, named) if old else named
    return list(merged.values())


def _add_compile(old: JobStages, new: JobStages) -> JobStages:
    known = {each.guards for each in old.guards}
    guards = tuple(each for each in new.guards if each.guards not in known)
    compiles = tuple(dict.fromkeys([*old.compiles, *new.compiles]))
    return replace(old, compiles=compiles, guards=(*old.guards, *guards))


def _output_code(read: Sequence[ReadGraph]) -> Iterator[Listing]:
    for each, *_ in _group_equal(read):
        if each.unit.wrapper:
            yield replace(each.unit.wrapper, links={})


# ------------------------------------------------------------------------------ events


def _graph_events_by_compile(trace: Trace) -> dict[str, list[tuple[str, Event[Any]]]]:
    """Map each compile to the events of its graphs, each with the name of its stage. A graph that
    the log repeats is returned once. If Dynamo traced a frame several times, only the graph of the
    last attempt is returned.
    """
    stages = {event: stage for stage in _GRAPH_STAGES for event in EVENTS[stage]}
    found: dict[str, dict[tuple[str, str], Event[Any]]] = defaultdict(dict)
    for event in trace.select(*stages):
        if event.compile_id:
            own, stage = found[event.compile_id], stages[event.name]
            for key in [key for key in own if key[0] == stage == "dynamo"]:
                del own[key]
            own[stage, event.payload] = event
    return {ident: [(stage, event) for (stage, _), event in own.items()]
            for ident, own in found.items()}  # fmt: skip


def _guards_by_compile(trace: Trace) -> Mapping[str, list[Guards]]:
    """Map each compile to its guards, without the guard tree, which repeats them."""
    own = Trace(trace.select(names.START, names.METRICS, names.FILES, _GUARDS), trace.frames)
    found: dict[str, list[Guards]] = defaultdict(list)
    for entry in read_guards(own):
        found[entry.compile_id].append(replace(entry, tree=""))
    return found


# ------------------------------------------------------------------------------ panes


def _read_panes(
    events: Sequence[tuple[str, Event[Any]]], read: Sequence[ReadGraph], is_kept: bool
) -> tuple[list[Listing], Lines]:
    """Return the panes of a compile's graphs and kernels, and the user's lines in them. With
    `is_kept`, the graphs below Dynamo's are as AOTAutograd's cache kept them, and name the lines of
    the program that compiled them first.
    """
    panes: list[Listing] = []
    lines: Lines = {}
    for stage, event in events:
        listing, sources = list_graph(event.payload, stage)
        if is_kept and stage != "dynamo":
            panes.append(replace(listing, title=f"{listing.title}{_OF_THE_CACHE}"))
            continue
        panes.append(listing)
        lines |= {(line.file, line.line): line for line in sources.values()}
    for number, (each, *equal) in enumerate(_group_equal(read)):
        graph, suffix = each.unit.output.graph, each.unit.title_suffix
        suffix += f", {each.graph.part}" if each.graph.part else ""
        suffix += f", and {len(equal)} equal to it" if equal else ""
        suffix += _OF_THE_CACHE if each.own is not None else ""
        if graph is not None:
            panes.append(_graph_pane(graph, number, suffix))
            found = (n.source for n in graph.nodes if n.source and each.names(n.source))
            lines |= {(line.file, line.line): line for line in found}
        panes += [_kernel_pane(kernel, each, number) for kernel in each.unit.kernels]
    return panes, lines


def _group_equal(read: Sequence[ReadGraph]) -> Iterable[list[ReadGraph]]:
    """Group the graphs that were read once because they are equal."""
    groups: dict[int, list[ReadGraph]] = defaultdict(list)
    for each in read:
        groups[id(each.unit)].append(each)
    return groups.values()


def _graph_pane(graph: Graph, number: int, suffix: str) -> Listing:
    """Make the pane of the graph number `number` that Inductor lowered in a compile."""
    own = {line: links.node_keys_of_graph(keys, number) for line, keys in graph.links.items()}
    origins = {line: links.python_keys(keys) for line, keys in graph.links.items()}
    title = f"{graph.title}{suffix}"
    return Listing(title, graph.name, graph.code, "python", graph.stage, links=origins, marks=own)


def _kernel_pane(kernel: Kernel, read: ReadGraph, number: int) -> Listing:
    """Make the pane of a kernel. The first line is linked to all nodes that the kernel computes,
    because the log does not say which line computes which node.
    """
    if kernel.category == "extern":
        by_line = {n: links.node_keys_of_graph(keys, number) for n, keys in kernel.links.items()}
        return replace(kernel, links=by_line)
    output = read.unit.output
    nodes = [
        node.keys[-1]
        for definition in output.definitions
        if definition.name == kernel.kernel_name
        for node in output.computed_nodes(definition, output.calls_to(definition.name))
    ]
    own_lines = read.graph.kernels.get(kernel.kernel_name, ())
    of_lines = tuple(links.python_key(line.file, line.line) for line in own_lines)
    keys = links.node_keys_of_graph(nodes, number) or of_lines
    return replace(kernel, links={_signature_line(kernel.code): keys} if keys else {})


def _signature_line(code: str) -> int:
    """Return the number of the line on which a kernel's function begins."""
    numbered = enumerate(source_lines(code), 1)
    return next((number for number, line in numbered if _SIGNATURE.match(line)), 1)


def link_panes(panes: Sequence[Listing], lines: Lines) -> tuple[Listing, ...]:
    """Return the panes, with those of the user's lines, in the order of the stages. Only keys that
    both a mark and a link have are kept. They become numbers, so that no path of the job is in
    them.
    """
    every = [*_python_panes(lines), *panes]
    every.sort(key=lambda pane: STAGES.index(pane.stage))
    marked = {key for pane in every for keys in pane.marks.values() for key in keys}
    linked = dict.fromkeys(key for pane in every for own in pane.links.values() for key in own)
    numbers = {key: str(number) for number, key in enumerate(linked) if key in marked}
    return tuple(
        replace(
            pane, links=_number_keys(pane.links, numbers), marks=_number_keys(pane.marks, numbers)
        )
        for pane in every
    )


def _number_keys(
    lines: Mapping[int, links.Keys], numbers: Mapping[str, str]
) -> dict[int, links.Keys]:
    kept = ((line, tuple(numbers[k] for k in own if k in numbers)) for line, own in lines.items())
    return {line: own for line, own in kept if own}


def _python_panes(lines: Lines) -> Iterator[Listing]:
    """Yield the lines of each function that the graphs name. The log does not have the lines
    between them; these are empty.
    """
    functions: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for (file, number), line in lines.items():
        functions[file, line.function][number] = line.code
    for (file, function), codes in functions.items():
        for block in _blocks(sorted(codes)):
            first, last = block[0], block[-1]
            code = "".join(f"{codes.get(n, '')}\n" for n in range(first, last + 1))
            marks = {n - first + 1: (links.python_key(file, n),) for n in block}
            title, ident = f"{function} in {file}", f"python-{slug(function)}-{first}"
            yield Listing(title, ident, code, "python", "python", file, first, marks=marks)


def _blocks(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Split ascending numbers where more than _MOST_UNKNOWN_LINES are missing."""
    block: list[int] = []
    for number in numbers:
        if block and number - block[-1] > _MOST_UNKNOWN_LINES + 1:
            yield block
            block = []
        block.append(number)
    if block:
        yield block
