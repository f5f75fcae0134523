"""Read one process of a job from the log that TORCH_TRACE made it write."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tclab.capturing.read.breaks import read_breaks
from tclab.capturing.read.caching import INDUCTOR, clean, read_cache_events
from tclab.capturing.read.frames import (
    Frame,
    cuda_graph_skips,
    frames_by_compile,
    library_callers,
)
from tclab.capturing.read.recompiles import read_recompiles
from tclab.capturing.read.stages import Stages
from tclab.capturing.read.times import read_compile_time
from tclab.capturing.read.units import Unit
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.capturing.trace.records import Log
from tclab.compare.identity import identify_stages
from tclab.model import (
    CacheLookup,
    Graph,
    JobCompile,
    JobGraph,
    JobProcess,
    Kernel,
    Snapshot,
    SourceLine,
    source_lines,
)
from tclab.text.scrub import scrub
from tclab.text.user_lines import is_library_file

# [ergse2eclekktmudxk5h4tov7jntkvq5rwchcvugfzubxmrspxv] inductor_config[debug]: False
_PART = re.compile(r"\[(?P<digest>\w+)\] (?P<name>[^:]+): (?P<value>.*)", re.DOTALL)
# # kernel path: /tmp/torchinductor_reader/de/cdekynprjpa3uawgtwphdw5pa4iq6gxp5r7gzfhq4q.py
_KERNEL_PATH = re.compile(r"^# kernel path: \S*?(?P<name>\w+)\.py$")
# triton_poi_fused_relu_0 = async_compile.triton('triton_poi_fused_relu_0', '''
_DEFINITION = re.compile(r"^(?P<name>\w+) = async_compile\.")
# torch version: 2.11.0+cu130
_VERSION = re.compile(r"^# torch version: (\S+)", re.MULTILINE)
#: The events of one graph of Inductor's, in their order.
_GRAPH, _CODE = "inductor_post_grad_graph", "inductor_output_code"
#: Dynamo's graph, of the same compile.
_TRACED = "dynamo_output_graph"
_ANSWERS = ("fx_graph_cache_hit", "fx_graph_cache_miss", "fx_graph_cache_bypass")
#: The most characters of a value to keep for a part of a key.
_MOST = 160
#: The name of a record that a framework adds → the name of the framework.
_FRAMEWORKS = {
    "vllm_compilation_config": "vLLM",
    "vllm_piecewise_split_graph": "vLLM, piecewise",
}


#: The parts of a cache's key: name → digest and value.
Parts = Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class ReadProcess:
    """A process, and the parts of the key of each of its look-ups, in the same order."""

    process: JobProcess
    parts: tuple[Parts, ...]


def read_process(name: str, log: Log, *, snapshot: bool = False) -> ReadProcess:
    """Return what the log of one process says. A `snapshot` needs AOTAutograd's graphs."""
    trace, torch = log.trace, _read_version(log.trace)
    lookups = list(_read_lookups(trace))
    return ReadProcess(
        JobProcess(
            name=name,
            rank=log.rank,
            torch=torch,
            compiles=tuple(_read_compiles(trace)),
            breaks=read_breaks(trace),
            recompiles=read_recompiles(trace),
            graphs=tuple(_read_graphs(trace, [lookup for lookup, _ in lookups])),
            lookups=tuple(lookup for lookup, _ in lookups),
            compile_time=read_compile_time(trace),
            cuda_graph_skips=cuda_graph_skips(trace),
            collectives=tuple(e.payload for e in trace.select("inductor_collective_schedule")),
            frameworks=tuple(title for key, title in _FRAMEWORKS.items() if log.counts[key]),
            callers=library_callers(trace),
            records=sum(log.counts.values()),
            unread=dict(log.unread),
            snapshot=_take_snapshot(trace, torch) if snapshot else Snapshot(),
        ),
        tuple(parts for _, parts in lookups),
    )


def _take_snapshot(trace: Trace, torch: str) -> Snapshot:
    """Return the identities of a trace. Its findings are in the job."""
    return replace(identify_stages(Stages(trace)), torch=torch, findings=())


def _read_version(trace: Trace) -> str:
    for event in trace.select(names.METRICS):
        if version := event.data.get("pytorch_version"):
            return str(version)
    texts = (event.payload for event in trace.select("torch_version", "fx_graph_runnable"))
    found = (_VERSION.search(text) for text in texts)
    return next((match[1] for match in found if match), "")


# ------------------------------------------------------------------------------ compiles


def _read_compiles(trace: Trace) -> Iterator[JobCompile]:
    frames = frames_by_compile(trace)
    for event in trace.select(names.METRICS, "bwd_compilation_metrics"):
        data: Mapping[str, Any] = event.data or {}
        frame = frames.get(event.compile_id) or _frame_of_metrics(data)
        yield JobCompile(
            compile_id=event.compile_id,
            function=frame.function if frame else "",
            location=frame.location if frame else None,
            direction="forward" if event.name == names.METRICS else "backward",
            own=not (frame and is_library_file(frame.file)),
            seconds=_seconds(data),
            backend=float(data.get("backend_compile_time_s") or 0.0),
            guards=int(data.get("guard_count") or 0),
            operations=int(data.get("graph_op_count") or 0),
            failure=scrub(_failure(data)),
        )


def _frame_of_metrics(data: Mapping[str, Any]) -> Frame | None:
    """Return the frame that the metrics of a compile name, because a log that was cut off may lack
    the begin of the compile.
    """
    file, line = data.get("co_filename"), data.get("co_firstlineno")
    return Frame(str(data.get("co_name") or ""), file, int(line)) if file and line else None


def _seconds(data: Mapping[str, Any]) -> float:
    whole = data.get("entire_frame_compile_time_s")
    return float(whole) if whole is not None else float(data.get("duration_us") or 0) / 1e6


def _failure(data: Mapping[str, Any]) -> str:
    kind, reason = data.get("fail_type"), str(data.get("fail_reason") or "")
    return f"{kind}: {next(iter(reason.splitlines()), '')}" if kind else ""


# ------------------------------------------------------------------------------ graphs


def _read_graphs(trace: Trace, lookups: Sequence[CacheLookup]) -> Iterator[JobGraph]:
    """Yield each graph that Inductor compiled or loaded. Equal ones are read once: a job compiles
    equal layers, and repeats graphs that it finds in a cache.
    """
    known: dict[tuple[str, ...], JobGraph] = {}
    keys = iter([lookup.key for lookup in lookups if lookup.cache == INDUCTOR])
    traced = {event.compile_id: event for event in trace.select(_TRACED)}
    for group, answered in _group_by_graph(trace):
        key = next(keys, "") if answered else ""
        if not group:  # the cache's answer for a graph that the log does not have
            continue
        compile_id = group[0].compile_id
        above = traced.get(compile_id)
        events = [above, *group] if above else group
        shown = tuple(event.payload for event in events)
        if shown not in known:
            known[shown] = _read_graph(events)
        yield replace(known[shown], compile_id=compile_id, key=key)


def _group_by_graph(trace: Trace) -> Iterator[tuple[list[Event[Any]], bool]]:
    """Yield the events of each graph of Inductor's, and whether its cache answered for it: the
    graph, its code, the nodes of its kernels and the answer follow each other. A compile that
    failed, or whose cache is off, has no answer.
    """
    group: list[Event[Any]] = []
    for event in trace.select(_GRAPH, _CODE, names.KERNEL_NODES, *_ANSWERS):
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


def _read_graph(events: Sequence[Event[Any]]) -> JobGraph:
    alone = Stages(Trace([*events]))
    (unit,) = alone.units
    generated = [kernel for kernel in unit.kernels if kernel.category != "extern"]
    codes = [event.payload for event in alone.trace.select(_CODE)]
    graph = unit.output.graph
    lines = (node.source for node in graph.nodes if node.source) if graph is not None else ()
    by_name = _lines_by_name([*alone.graphs, *alone.post_grad])
    return JobGraph(
        compile_id=unit.compile_id,
        direction=unit.direction,
        kernels={kernel.kernel_name: _lines_of(kernel, unit, by_name) for kernel in generated},
        files=dict(_read_kernel_files("".join(codes))),
        library_calls=len(unit.kernels) - len(generated),
        lines=tuple(dict.fromkeys(lines)),
    )


def _lines_by_name(graphs: Sequence[Graph]) -> dict[str, SourceLine]:
    """Map the nodes to their lines. A name that has another line in another graph is left out."""
    lines: dict[str, set[SourceLine]] = defaultdict(set)
    for node in (node for graph in graphs for node in graph.nodes):
        if node.source:
            lines[node.name].add(node.source)
    return {name: found.pop() for name, found in lines.items() if len(found) == 1}


def _lines_of(
    kernel: Kernel, unit: Unit, by_name: Mapping[str, SourceLine]
) -> tuple[SourceLine, ...]:
    """Return the lines that a kernel computes in all of its calls. Its definition names only those
    of the first one.
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


# ------------------------------------------------------------------------------ caches


def _read_lookups(trace: Trace) -> Iterator[tuple[CacheLookup, Parts]]:
    parts_of: dict[str, Parts] = {}
    for event in read_cache_events(trace):
        key = str(event.data.get("key") or "")
        lookup = CacheLookup(event.compile_id, event.cache, event.state, key, clean(event.reason))
        if not key or key not in parts_of:  # equal keys have equal parts
            parts_of[key] = dict(_read_parts(event.data.get("components") or ()))
        yield lookup, parts_of[key]


def _read_parts(components: object) -> Iterator[tuple[str, tuple[str, str]]]:
    if isinstance(components, list):
        for component in components:
            if match := _PART.match(str(component)):
                yield match["name"], (match["digest"], match["value"][:_MOST])
