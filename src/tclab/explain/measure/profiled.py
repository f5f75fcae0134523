"""Time the kernels and library calls of compiled graphs with PyTorch's profiler."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tclab.model import GraphRun, PassProfile

_GRAPH = "## Call CompiledFxGraph "
# graph_0_cpp_fused_add_sum_1
_CPP_PREFIX = re.compile(r"^graph_\w+?_(?=cpp_)")


def profile_passes(run: Callable[[], None], passes: int) -> PassProfile:
    """Profile a number of passes of `run`, one right after the other, and return one pass.

    Each time is the median of the passes. The compiled graphs are in the order of their runs; they
    are left out if the passes do not execute the same.
    """
    import torch

    activities = [torch.profiler.ProfilerActivity.CPU]
    gpu = torch.cuda.is_initialized()
    if gpu:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    # the first of two steps is not kept: a GPU at full power slows down after a while
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=1)
    with torch.profiler.profile(activities=activities, schedule=schedule) as profiler:
        for _ in range(2):
            for _ in range(passes):
                run()
            if gpu:
                torch.cuda.synchronize()
            profiler.step()
    on_device, on_host = _split_by_device(profiler.events())
    found = [event for event in on_host if event.name.startswith(_GRAPH)]
    found.sort(key=lambda event: event.time_range.start)
    graphs = [GraphRun(tuple(_list_launches(event, gpu=gpu))) for event in found]
    each, rest = divmod(len(graphs), passes)
    columns = [] if rest else [graphs[first::each] for first in range(each)]
    alike = all(_names(graph) == _names(of[0]) for of in columns for graph in of)
    busy = sum(event.device_time for event in on_device) * 1e-6 / passes if gpu else None
    return PassProfile(tuple(map(_median, columns)) if alike else (), busy)


def _split_by_device(events: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """Return the events of the GPU, without annotations, and those of the host."""
    import torch

    cuda = torch.autograd.DeviceType.CUDA
    all_events = list(events)
    on_device = [e for e in all_events if e.device_type == cuda and not e.is_user_annotation]
    return on_device, [e for e in all_events if e.device_type != cuda]


def _list_launches(graph: Any, *, gpu: bool) -> Iterator[tuple[str, float]]:
    """Yield the name and the seconds of each kernel and operator that a graph calls. On a GPU the
    seconds are those of the GPU.
    """
    children = sorted(graph.cpu_children, key=lambda event: event.time_range.start)
    for child in children:
        microseconds = child.device_time_total if gpu else child.cpu_time_total
        if microseconds:
            yield _CPP_PREFIX.sub("", child.name), microseconds * 1e-6


def _names(graph: GraphRun) -> list[str]:
    return [name for name, _ in graph.launches]


def _median(graphs: Sequence[GraphRun]) -> GraphRun:
    columns = zip(*(graph.launches for graph in graphs))
    return GraphRun(
        tuple((of[0][0], statistics.median(seconds for _, seconds in of)) for of in columns)
    )
