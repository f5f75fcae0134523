"""Read one process of a job from the log that TORCH_TRACE made it write."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tclab.capturing.read.breaks import read_breaks
from tclab.capturing.read.caching import clean, read_cache_events
from tclab.capturing.read.frames import (
    Frame,
    cuda_graph_skips,
    frames_by_compile,
    library_callers,
)
from tclab.capturing.read.recompiles import read_recompiles
from tclab.capturing.read.stages import Stages
from tclab.capturing.read.times import read_seconds
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.records import Log
from tclab.jobs.cuda_graphs import STATIC, infer_skips
from tclab.jobs.graphs import ReadGraph, read_graphs
from tclab.jobs.inputs import rank_in_name
from tclab.jobs.schedules import read_collectives, read_executed, read_tensors
from tclab.jobs.stages import read_stages
from tclab.model import (
    CACHES_DISABLED,
    GRAPH_CACHE_OFF,
    CacheLookup,
    CompileTime,
    JobCompile,
    JobProcess,
    JobStages,
    Snapshot,
)
from tclab.text.scrub import scrub
from tclab.text.user_lines import is_library_file

if TYPE_CHECKING:  # these are imported when they are asked for: most jobs are only read
    from tclab.jobs.again.graphs import TracedGraph
    from tclab.jobs.machine_code import KernelSource

# [ergse2eclekktmudxk5h4tov7jntkvq5rwchcvugfzubxmrspxv] inductor_config[debug]: False
_PART = re.compile(r"\[(?P<digest>\w+)\] (?P<name>[^:]+): (?P<value>.*)", re.DOTALL)
# L['self'].scale
_LOCAL = re.compile(r"\bL\['(\w+)'\]")
# L['x'].size()[0], L['___stack0']
_NO_NUMBER = re.compile(r"\.(?:size|stride|storage_offset)\(\)|___stack|^$")
# torch version: 2.11.0+cu130
_VERSION = re.compile(r"^# torch version: (\S+)", re.MULTILINE)
#: At most this number of characters is kept of the value of a key's part.
_MOST_CHARACTERS = 160
#: The name of a record that a framework adds → the name of the framework.
_FRAMEWORKS = {
    "vllm_compilation_config": "vLLM",
    "vllm_piecewise_split_graph": "vLLM, piecewise",
}


#: The parts of a cache's key: name → digest and value.
Parts = Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class ReadProcess:
    """A process, and the parts of the key of each of its look-ups, in the order of the look-ups.
    `stages` are those of its compiles, `sources` those of its Triton kernels, and `traced` its
    graphs to compile again, if they were asked for. `began` and `ended` are the times of its first
    and last record, as in the log. `program` is the file of the program that ran, or '' if the
    trace does not name it.
    """

    process: JobProcess
    parts: tuple[Parts, ...]
    stages: tuple[JobStages, ...] = ()
    sources: tuple[KernelSource, ...] = ()
    traced: tuple[TracedGraph, ...] = ()
    began: str = ""
    ended: str = ""
    program: str = ""


def read_process(
    name: str,
    log: Log,
    compile_time: CompileTime,
    *,
    snapshot: bool = False,
    stages: bool = False,
    sources: bool = False,
    replay: bool = False,
) -> ReadProcess:
    """Return what the log of one process says. With `snapshot` or `stages`, the process has a
    snapshot or the stages of its compiles, for which the log must have been read with AOTAutograd's
    graphs. With `sources`, it has the sources of its Triton kernels, and with `replay` its graphs
    to compile again.
    """
    trace, torch = log.trace, _read_version(log.trace)
    lookups = list(_read_lookups(trace))
    graphs = list(read_graphs(trace, [lookup for lookup, _ in lookups]))
    callers = library_callers(trace)
    return ReadProcess(
        JobProcess(
            name=name,
            rank=log.rank if (of_file := rank_in_name(name)) is None else of_file,
            torch=torch,
            compiles=tuple(_read_compiles(trace)),
            breaks=read_breaks(trace),
            recompiles=read_recompiles(trace),
            graphs=tuple(each.graph for each in graphs),
            lookups=tuple(lookup for lookup, _ in lookups),
            compile_time=compile_time,
            cuda_graph_skips=(*cuda_graph_skips(trace), *infer_skips(graphs, lookups, callers)),
            collectives=tuple(read_collectives(trace)),
            executed=tuple(read_executed(trace)),
            tensors=tuple(read_tensors(trace)),
            frameworks=tuple(title for key, title in _FRAMEWORKS.items() if log.counts[key]),
            callers=callers,
            became=dict(_read_changed_numbers(trace)),
            caches_off=_read_caches_off(trace),
            records=sum(log.counts.values()),
            unread=dict(log.unread),
            snapshot=_take_snapshot(trace, torch) if snapshot else Snapshot(),
        ),
        tuple(parts for _, parts in lookups),
        tuple(read_stages(trace, graphs)) if stages else (),
        _read_sources(trace, graphs) if sources else (),
        _find_graphs(trace) if replay else (),
        log.began,
        log.ended,
        _read_program(trace),
    )


def _read_program(trace: Trace) -> str:
    stacks = (event.data["stack"] for event in trace.select(names.START))
    first = (stack[0] for stack in stacks if stack and stack[0]["name"] == "<module>")
    return next((scrub(f["filename"]) for f in first if not is_library_file(f["filename"])), "")


def _take_snapshot(trace: Trace, torch: str) -> Snapshot:
    """Return the identities of a trace's compiles, without findings, because the job has these."""
    from tclab.compare.identity import identify_stages

    return replace(identify_stages(Stages(trace)), torch=torch, findings=())


def _read_sources(trace: Trace, graphs: Sequence[ReadGraph]) -> tuple[KernelSource, ...]:
    from tclab.jobs.machine_code import read_sources

    return tuple(read_sources(trace, graphs))


def _find_graphs(trace: Trace) -> tuple[TracedGraph, ...]:
    from tclab.jobs.again.graphs import find_graphs

    return tuple(find_graphs(trace))


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
            seconds=read_seconds(data),
            backend=float(data.get("backend_compile_time_s") or 0.0),
            guards=int(data.get("guard_count") or 0),
            operations=int(data.get("graph_op_count") or 0),
            failure=scrub(_read_failure(data)),
        )


def _read_changed_numbers(trace: Trace) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (id of a recompile, the numbers that no earlier compile of its frame took for symbols).
    A size is left out, since the guard on its tensor names it.
    """
    by_compile: dict[str, dict[str, None]] = defaultdict(dict)
    for event in trace.select(names.CREATED_SYMBOL):
        source = str(event.data.get("source") or "")
        # L['___stack0'] is a value from before a break
        if not _NO_NUMBER.search(source):
            by_compile[event.compile_id][_LOCAL.sub(r"\1", source)] = None
    known: dict[str, set[str]] = defaultdict(set)
    for compile_id, sources in by_compile.items():
        frame, _, number = compile_id.partition("/")
        new = tuple(each for each in sources if each not in known[frame])
        known[frame].update(sources)
        if number != "0" and new:
            yield compile_id, new


def _frame_of_metrics(data: Mapping[str, Any]) -> Frame | None:
    """Return the frame that the metrics of a compile name. It is needed for a log that was cut off
    and lacks the beginning of the compile.
    """
    file, line = data.get("co_filename"), data.get("co_firstlineno")
    return Frame(str(data.get("co_name") or ""), file, int(line)) if file and line else None


def _read_failure(data: Mapping[str, Any]) -> str:
    kind, reason = data.get("fail_type"), str(data.get("fail_reason") or "")
    return f"{kind}: {next(iter(reason.splitlines()), '')}" if kind else ""


# ------------------------------------------------------------------------------ caches


def _read_lookups(trace: Trace) -> Iterator[tuple[CacheLookup, Parts]]:
    parts_of: dict[str, Parts] = {}
    for event in read_cache_events(trace):
        key = str(event.data.get("key") or "")
        lookup = CacheLookup(event.compile_id, event.cache, event.state, key, clean(event.reason))
        if not key or key not in parts_of:  # equal keys have equal parts
            parts_of[key] = dict(_read_parts(event.data.get("components") or ()))
        yield lookup, parts_of[key]


def _read_caches_off(trace: Trace) -> str:
    """Return the setting that turned the caches off in a compile, or ''."""
    metrics = [event.data for event in trace.select(names.METRICS)]
    # most compiles of a job have the same settings
    for inductor_text, compiler_text in dict.fromkeys(
        (each.get("inductor_config"), each.get("compiler_config")) for each in metrics
    ):
        inductor, compiler = _read_settings(inductor_text), _read_settings(compiler_text)
        # it is a setting of Inductor up to PyTorch 2.9
        if any(each.get("force_disable_caches") for each in (inductor, compiler)):
            return CACHES_DISABLED
        if inductor.get("fx_graph_cache") is False and not inductor.get("fx_graph_remote_cache"):
            return GRAPH_CACHE_OFF
    return ""


def _read_settings(text: str | None) -> Mapping[str, Any]:
    """Return the settings that a compile's metrics hold as JSON; {} if they hold none."""
    try:
        settings = json.loads(text or "{}")
    except ValueError:  # a record of another form
        return {}
    return settings if isinstance(settings, dict) else {}


def _read_parts(components: object) -> Iterator[tuple[str, tuple[str, str]]]:
    if isinstance(components, list):
        for component in components:
            if match := _PART.match(str(component)):
                most = None if match["name"] == STATIC else _MOST_CHARACTERS
                yield match["name"], (match["digest"], match["value"][:most])
