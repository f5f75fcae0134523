"""Time the kernels and library calls of compiled graphs with PyTorch's profiler."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tclab.model import GraphRun

#: A profiled pass over the calls varies; the median of this number of passes is taken.
_PASSES = 5
_GRAPH = "## Call CompiledFxGraph "
# graph_0_cpp_fused_add_sum_1
_CPP_PREFIX = re.compile(r"^graph_\w+?_(?=cpp_)")


def profile_graphs(run: Callable[[], None]) -> tuple[GraphRun, ...]:
    """Return what one pass of `run` executes in each compiled graph, graph by graph in the order of
    their runs. Each time is the median of several passes. If the passes differ in what they
    execute, those count that execute the same as the last one.
    """
    passes = [_profile(run) for _ in range(_PASSES)]
    shapes = [[_names(graph) for graph in each] for each in passes]
    alike = [each for each, shape in zip(passes, shapes) if shape == shapes[-1]]
    return tuple(_median(graphs) for graphs in zip(*alike))


def _profile(run: Callable[[], None]) -> list[GraphRun]:
    import torch

    activities = [torch.profiler.ProfilerActivity.CPU]
    gpu = torch.cuda.is_initialized()
    if gpu:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profiler:
        run()
        if gpu:
            torch.cuda.synchronize()
    events = (e for e in profiler.events() if e.name.startswith(_GRAPH))
    ordered = sorted(events, key=lambda event: event.time_range.start)
    return [GraphRun(tuple(_list_launches(event, gpu=gpu))) for event in ordered]


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
