"""Note how many checkpointed regions a compiled backward holds at once.

Eager recomputes a region when its backward begins, and drops it before the next one. A compiled
backward is one graph, in which a region can be recomputed long before it is used up. An event
``checkpoints`` in the Trace has the most that is held at any node, in the partitioner's order of
nodes.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch

from tclab.capturing.torch_private import compiler
from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.model import Checkpoints

NAMES = (
    Private(
        "torch._inductor.compile_fx", "min_cut_rematerialization_partition", "the backward graph"
    ),
)
#: The key in node.meta with the number of the checkpointed region that a node is in.
_REGION = "ac_graph_id"


@contextmanager
def note_checkpoints(trace: Trace) -> Iterator[None]:
    """Add an event to `trace` for each backward graph with checkpointed regions."""
    from torch._inductor import compile_fx

    partition = compile_fx.min_cut_rematerialization_partition
    wrapped = _wrap_partition(partition, trace)
    with mock.patch.object(compile_fx, "min_cut_rematerialization_partition", wrapped):
        yield


def _wrap_partition(partition: Callable[..., Any], trace: Trace) -> Callable[..., Any]:
    @functools.wraps(partition)
    def partition_and_note(*args: Any, **kwargs: Any) -> Any:
        forward, backward = partition(*args, **kwargs)
        if found := measure_held_values(backward.graph):
            trace.add(names.CHECKPOINTS, found, "", compiler.current_compile_ids())
        return forward, backward

    return partition_and_note


def measure_held_values(graph: torch.fx.Graph) -> Checkpoints | None:
    """Measure the most memory that a backward graph holds for values of checkpointed regions; None
    without such regions.
    """
    nodes = list(graph.nodes)
    last, arguments = _last_uses(nodes), set(_list_arguments(nodes))
    sizes: dict[Any, int] = defaultdict(int)  # region → bytes of the values that its backward reads
    live: dict[torch.fx.Node, int] = {}
    most, regions = 0, 0
    for at, node in enumerate(nodes):
        region = node.meta.get(_REGION)
        if region is not None and node in last and node not in arguments:
            live[node] = _count_bytes(node)
            sizes[region] += live[node]
        if (now := sum(live.values())) > most:
            most, regions = now, len({each.meta[_REGION] for each in live})
        live = {each: size for each, size in live.items() if last[each] > at}
    if not sizes:
        return None
    return Checkpoints(len(sizes), regions, most, max(sizes.values()))


def _last_uses(nodes: list[torch.fx.Node]) -> dict[torch.fx.Node, int]:
    """Map each value to the position of the last node for a gradient that reads the value or a view
    of it.
    """
    last: dict[torch.fx.Node, int] = {}
    for at, node in enumerate(nodes):
        if node.meta.get(_REGION) is None and not _is_view(node):
            last.update((_find_base(each), at) for each in node.all_input_nodes)
    return last


def _list_arguments(nodes: list[torch.fx.Node]) -> Iterator[torch.fx.Node]:
    """Yield the values of a region that another region reads, because eager keeps each region's
    arguments, too.
    """
    for node in nodes:
        if (region := node.meta.get(_REGION)) is not None:
            bases = map(_find_base, node.all_input_nodes)
            yield from (each for each in bases if each.meta.get(_REGION, region) != region)


def _find_base(node: torch.fx.Node) -> torch.fx.Node:
    while _is_view(node) and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node


def _is_view(node: torch.fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(r.alias_info is not None for r in schema.returns)


def _count_bytes(node: torch.fx.Node) -> int:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not all(isinstance(n, int) for n in value.shape):
        return 0
    return value.numel() * value.element_size()
