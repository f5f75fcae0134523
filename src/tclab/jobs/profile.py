"""Read what the GPU ran from a profile that PyTorch exported, beside the traces of the same job.

A kernel is joined to its graph by the facts on its launch in the profile: the kernel's file, the
key of the compiled graph around the launch, and the compile id of the compiled region around the
launch. A kernel that a CUDA graph replays has no launch of its own, and is joined by its name.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tclab.capturing.read.frames import printed_stack
from tclab.jobs.inputs import Profile
from tclab.model import Config, DeviceKernel, DeviceProfile, JobGraph, JobProcess, SourceLine

Event = Mapping[str, Any]

# Torch-Compiled Region: 0/1
_REGION = re.compile(r"Torch-Compiled Region: (\d+/\d+)")
# ## Call CompiledFxGraph fhkipdfh2c6q52223zj6goq3453g355ewkn54l55qv4hujc7wabj ##
_CALL = re.compile(r"## Call CompiledFxGraph (\w+) ##")
# "kernel_kwargs": "XBLOCK=16,R0_BLOCK=32"
_CONSTANT = re.compile(r"(\w+)=(\d{1,18})(?!\d)")
_DEVICE_CATEGORIES = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_HOST_CATEGORIES = frozenset({"cpu_op", "user_annotation"})
#: The profiler's times are in µs.
_SECONDS = 1e-6


@dataclass(frozen=True)
class _Launch:
    """What the host was doing when it launched a kernel."""

    key: str = ""  # key of the compiled graph; if the cache was off, the number of the call
    compile_id: str = ""
    file: str = ""  # file of a generated kernel, without its folder
    configuration: str = ""


@dataclass
class _Sum:
    times: int = 0
    seconds: float = 0.0
    category: str = ""
    lines: tuple[SourceLine, ...] = ()  # from PyTorch 2.14 on, its trace handler can write them


def read_kernels(profile: Profile, processes: Sequence[JobProcess]) -> DeviceProfile:
    """Return the kernels of a profile by name, the longest time first. Each kernel is joined to a
    graph of the profile's own rank, or of any process if the rank is not known.
    """
    on_device = [e for e in profile.events if e.get("cat") in _DEVICE_CATEGORIES]
    device = [e for e in on_device if _is_span(e)]
    launches = dict(_list_launches(profile.events))
    sums: dict[tuple[str, _Launch], _Sum] = defaultdict(_Sum)
    for event in device:
        number = _external_id(event)
        launch = launches.get(number, _Launch()) if number else _Launch()
        total = sums[str(event["name"]), launch]
        total.times += 1
        total.seconds += event["dur"] * _SECONDS
        total.category = event["cat"]
        total.lines = total.lines or tuple(_read_stack(event))
    own = [each for each in processes if each.rank == profile.rank is not None]
    graphs = _Graphs.from_processes(own or processes).with_keys_of(launches.values())
    kernels = [graphs.join(name, launch, total) for (name, launch), total in sums.items()]
    return replace(
        _measure_span(device),
        name=profile.name,
        kernels=tuple(_merge(kernels)),
        rank=profile.rank,
        unread=profile.unread + len(on_device) - len(device),
        replays=sum(event.get("name") == "cudaGraphLaunch" for event in profile.events),
    )


def _read_stack(event: Event) -> Iterator[SourceLine]:
    """Yield the lines that PyTorch's trace handler of 2.14 wrote beside a kernel, each once."""
    stacks = _arguments(event).get("stack")
    texts = map(str, stacks) if isinstance(stacks, list) else ()
    yield from dict.fromkeys(line for text in texts for line in printed_stack(text)[-1:])


def read_configurations(profile: Profile) -> dict[str, Config]:
    """Map the name of each generated kernel's file to the configuration with which the kernel was
    launched most often.
    """
    found: dict[str, Counter[Config]] = defaultdict(Counter)
    for event in profile.events:
        args = _arguments(event)
        if file := _kernel_file(args):
            constants = _CONSTANT.findall(str(args.get("kernel_kwargs") or ""))
            warps, stages = args.get("num_warps"), args.get("num_stages")
            if isinstance(warps, int) and isinstance(stages, int):
                values = tuple((name, int(value)) for name, value in constants)
                found[file][Config(values, warps, stages)] += 1
    return {file: configs.most_common(1)[0][0] for file, configs in found.items()}


def _kernel_file(args: Mapping[str, Any]) -> str:
    """Return the name of a generated kernel's file without its folder and suffix, or ''."""
    return re.split(r"[/\\]", str(args.get("kernel_file") or ""))[-1].removesuffix(".py")


def _is_span(event: Event) -> bool:
    """Return whether an event has a name, a beginning and a length. An event of a damaged profile
    may lack them.
    """
    times = event.get("ts"), event.get("dur")
    if not all(isinstance(each, (int, float)) and math.isfinite(each) for each in times):
        return False
    return event["dur"] >= 0 and isinstance(event.get("name"), str)


def _external_id(event: Event) -> object:
    found = _arguments(event).get("External id")
    return found if isinstance(found, int) else None


def _arguments(event: Event) -> Mapping[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _list_launches(events: Sequence[Event]) -> Iterator[tuple[object, _Launch]]:
    """Yield the External id of each operator that the host ran, with the graph and the region
    around the operator.
    """
    by_thread: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in events:
        if event.get("cat") in _HOST_CATEGORIES and _is_span(event):
            by_thread[str(event.get("pid")), str(event.get("tid"))].append(event)
    for thread in by_thread.values():
        yield from _launches_of_thread(sorted(thread, key=lambda e: (e["ts"], -e["dur"])))


def _launches_of_thread(events: Sequence[Event]) -> Iterator[tuple[object, _Launch]]:
    around: list[
        tuple[float, _Launch]
    ] = []  # the end of each operator that still runs, outermost first
    for event in events:
        while around and around[-1][0] <= event["ts"]:
            around.pop()
        launch = _read_launch(event, around[-1][1] if around else _Launch())
        around.append((event["ts"] + event["dur"], launch))
        yield _external_id(event), launch


def _read_launch(event: Event, outer: _Launch) -> _Launch:
    name, args = event["name"], _arguments(event)
    if region := _REGION.match(name):
        return replace(outer, compile_id=region[1], key="")
    if call := _CALL.match(name):
        # without a key, a call is identified by its External id
        return replace(outer, key=call[1] if call[1] != "None" else f"call {_external_id(event)}")
    if file := _kernel_file(args):
        return replace(outer, file=file, configuration=_describe_configuration(args))
    return outer


def _describe_configuration(args: Mapping[str, Any]) -> str:
    """Return the configuration of a launch as text: ``XBLOCK=1024, num_warps=4, num_stages=1``."""
    named = [f"{key}={args[key]}" for key in ("num_warps", "num_stages") if key in args]
    blocks = str(args.get("kernel_kwargs") or "").replace(",", ", ")
    return ", ".join(filter(None, [blocks, *named]))


# ------------------------------------------------------------------------------ joining


@dataclass(frozen=True)
class _Graphs:
    """The graphs of a job, by the names that a profile uses for them. Graphs of several ranks, or
    of several compiles, can have the same kernels.
    """

    by_key: Mapping[str, JobGraph]
    by_file: Mapping[str, list[JobGraph]]
    by_kernel: Mapping[str, list[JobGraph]]

    @classmethod
    def from_processes(cls, processes: Sequence[JobProcess]) -> _Graphs:
        graphs = [graph for process in processes for graph in process.graphs]
        by_kernel: dict[str, list[JobGraph]] = defaultdict(list)
        for graph in graphs:
            for kernel in graph.kernels:
                by_kernel[kernel].append(graph)
        by_file: dict[str, list[JobGraph]] = defaultdict(list)
        for graph in graphs:
            for file in graph.files:
                by_file[file].append(graph)
        return cls({graph.key: graph for graph in graphs if graph.key}, by_file, by_kernel)

    def with_keys_of(self, launches: Iterable[_Launch]) -> _Graphs:
        """Return the graphs with further keys: those of the calls in which the profile launched one
        of their kernels. This is needed if the cache was off, because then the trace has no keys.
        """
        known = {
            launch.key: self.by_file[launch.file][0]
            for launch in launches
            if launch.key and len(self.by_file.get(launch.file, ())) == 1
        }
        return replace(self, by_key={**known, **self.by_key})

    def join(self, name: str, launch: _Launch, total: _Sum) -> DeviceKernel:
        """Return the kernel with its graph, if the graph is known."""
        kernel = DeviceKernel(name, total.times, total.seconds, lines=total.lines)
        kernel = replace(kernel, configuration=launch.configuration)
        graph = self._graph(name, launch)
        origin = ""
        if launch.file or (graph and name in graph.kernels):
            origin = "compiled"
        elif total.category != "kernel":
            origin = "copy"
        elif launch.key or launch.compile_id:
            origin = "in a compiled graph"
        if graph is None:
            return replace(kernel, origin=origin, compile_id=launch.compile_id)
        own_name = graph.files.get(launch.file, name)
        return replace(
            kernel,
            origin=origin,
            compile_id=graph.compile_id,
            direction=graph.direction,
            lines=graph.kernels.get(own_name, ()) or kernel.lines,
        )

    def _graph(self, name: str, launch: _Launch) -> JobGraph | None:
        """Return the graph around a launch. It is found by the key of the call, else by the
        kernel's file, else by the kernel's name. Returns None if more than one graph fits.
        """
        if launch.key in self.by_key:
            return self.by_key[launch.key]
        candidates = self.by_file.get(launch.file) or self.by_kernel.get(name, [])
        of_region = [each for each in candidates if each.compile_id == launch.compile_id]
        candidates = of_region or candidates
        # the same compile in several ranks counts once
        alike = {(each.compile_id, each.direction, *each.kernels) for each in candidates}
        return candidates[0] if len(alike) == 1 else None


def _merge(kernels: Sequence[DeviceKernel]) -> list[DeviceKernel]:
    """Merge equal rows, and return them with the longest time first."""
    merged: dict[DeviceKernel, DeviceKernel] = {}
    for kernel in kernels:
        key = replace(kernel, times=0, seconds=0.0)
        old = merged.get(key, key)
        merged[key] = replace(
            old, times=old.times + kernel.times, seconds=old.seconds + kernel.seconds
        )
    return sorted(merged.values(), key=lambda kernel: (-kernel.seconds, kernel.name))


# ------------------------------------------------------------------------------ time


def _measure_span(device: Sequence[Event]) -> DeviceProfile:
    """Return the seconds from the GPU's first event to its last, those in which the GPU was in use,
    and the longest gap between two events.
    """
    ordered = sorted(device, key=lambda event: event["ts"])
    if not ordered:
        return DeviceProfile("")
    begin = end = ordered[0]["ts"]
    busy, gap, between, last = 0.0, 0.0, ("", ""), ""
    for event in ordered:
        start, stop = event["ts"], event["ts"] + event["dur"]
        if start - end > gap:
            gap, between = start - end, (last, str(event["name"]))
        busy += max(0.0, stop - max(start, end))
        if stop > end or not last:
            end, last = max(end, stop), str(event["name"])
    return DeviceProfile(
        "",
        span=(end - begin) * _SECONDS,
        busy=busy * _SECONDS,
        gap=gap * _SECONDS,
        gap_between=between if gap else (),
    )
