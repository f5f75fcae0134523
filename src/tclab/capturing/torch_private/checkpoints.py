"""Note how many checkpointed regions a compiled backward holds at once.

Eager recomputes a region when its backward begins, and drops it before the next one. A compiled
backward is one graph, whose kernels Inductor's scheduler puts into an order of its own, so a region
can be recomputed long before it is used up. An event ``checkpoints`` in the Trace has the most
that is held at any kernel.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch

from tclab.capturing.torch_private import compiler
from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.model import Checkpoints

NAMES = (
    Private("torch._inductor.scheduler", "Scheduler.codegen", "the order of a backward's kernels"),
    Private("torch._inductor.virtualized", "V.graph", "the backward graph"),
    Private("torch._inductor.ir", "Operation.get_origin_node", "the node that a buffer holds"),
    Private("torch._inductor.ir", "IRNode.maybe_get_size", "the bytes of a buffer"),
)
#: The key in node.meta with the number of the checkpointed region that a node is in.
_REGION = "ac_graph_id"


@contextmanager
def note_checkpoints(trace: Trace) -> Iterator[None]:
    """Add an event to `trace` for each backward graph with checkpointed regions."""
    from torch._inductor.scheduler import Scheduler

    wrapped = _wrap_codegen(Scheduler.codegen, trace)
    with mock.patch.object(Scheduler, "codegen", wrapped):
        yield


def _wrap_codegen(codegen: Callable[..., Any], trace: Trace) -> Callable[..., Any]:
    @functools.wraps(codegen)
    def note_and_codegen(self: Any) -> Any:
        from torch._inductor.virtualized import V

        if V.graph.is_backward and (found := measure_held_values(V.graph.graph, self.nodes)):
            trace.add(names.CHECKPOINTS, found, "", compiler.current_compile_ids())
        return codegen(self)

    return note_and_codegen


@dataclass(frozen=True)
class _Operation:
    """One operation of the kernel with number `at`. It recomputes a value of the checkpointed
    `region`, or computes a gradient; then `region` is None. `written` maps the buffers that it
    writes to their bytes, and `read` are the buffers that it reads.
    """

    at: int
    region: int | None
    written: Mapping[str, int]
    read: frozenset[str]


def measure_held_values(graph: torch.fx.Graph, kernels: Sequence[Any]) -> Checkpoints | None:
    """Measure the most memory that a backward graph holds for values of checkpointed regions; None
    without such regions. `kernels` are the scheduler's nodes for the graph, in their order.
    """
    sizes = _measure_regions(graph)
    if not sizes:
        return None
    operations = [*_list_operations(kernels)]
    region_of = {name: each.region for each in operations for name in each.written}
    last: dict[str, int] = {}
    arguments = set[str]()
    for each in operations:
        if each.region is None:
            last.update(dict.fromkeys(each.read, each.at))
        else:  # eager keeps each region's arguments, too
            arguments |= {name for name in each.read if region_of.get(name) != each.region}
    live: dict[str, int] = {}
    most, held = 0, 0
    for each in operations:
        live = {name: size for name, size in live.items() if last[name] >= each.at}
        if each.region is not None:
            live |= {name: size for name, size in each.written.items()
                     if last.get(name, 0) > each.at and name not in arguments}  # fmt: skip
        if (now := sum(live.values())) > most:
            most, held = now, len({region_of[name] for name in live})
    return Checkpoints(len(sizes), held, most, max(sizes.values()))


def _list_operations(kernels: Sequence[Any]) -> Iterator[_Operation]:
    for at, kernel in enumerate(kernels):
        for node in kernel.get_nodes():
            buffers = [each.node for each in node.get_outputs()]
            origin = node.node.get_origin_node() if node.node else None
            yield _Operation(
                at,
                origin.meta.get(_REGION) if origin is not None else None,
                {each.get_name(): _count_buffer_bytes(each) for each in buffers},
                frozenset(each.name for each in node.read_writes.reads),
            )


def _count_buffer_bytes(buffer: Any) -> int:
    sizes = buffer.maybe_get_size() or ()
    if any(getattr(each, "free_symbols", ()) for each in sizes):
        return 0
    return math.prod(map(int, sizes)) * int(buffer.get_dtype().itemsize)


def _measure_regions(graph: torch.fx.Graph) -> dict[int, int]:
    """Map each checkpointed region to the bytes of the region's values that its backward reads.
    Eager holds these values while the backward of the region runs.
    """
    nodes = list(graph.nodes)
    read, arguments = _list_gradient_reads(nodes), set(_list_arguments(nodes))
    sizes: dict[int, int] = defaultdict(int)
    for node in nodes:
        region = node.meta.get(_REGION)
        if region is not None and node in read and node not in arguments:
            sizes[region] += _count_bytes(node)
    return sizes


def _list_gradient_reads(nodes: list[torch.fx.Node]) -> set[torch.fx.Node]:
    """Return the values that a node for a gradient reads, itself or a view of it."""
    return {
        _find_base(each)
        for node in nodes
        if node.meta.get(_REGION) is None and not _is_view(node)
        for each in node.all_input_nodes
    }


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
