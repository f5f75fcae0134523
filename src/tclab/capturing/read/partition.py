"""Read the fate of each forward value in the partitioner: saved, recomputed, or forward only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.notes import CutValue
from tclab.model import Graph, Node, Partition, PartitionedValue


def read_partitions(
    trace: Trace, forward: tuple[Graph, ...], backward: tuple[Graph, ...]
) -> tuple[Partition, ...]:
    """Return one Partition for each joint graph that was cut, in order. With a memory budget the
    partitioner cuts a graph several times. Then only the first cut is returned, which bans the same
    values as a compile without a budget.
    """
    cuts: dict[str, dict[str, CutValue]] = {}
    for event in trace.select(names.CUT):
        cuts.setdefault(event.compile_id, {value.name: value for value in event.data.values})
    return tuple(
        _make_partition(index, cuts[forward_half.compile_id], forward_half, backward_half)
        for index, (forward_half, backward_half) in enumerate(_pair_halves(forward, backward))
        if forward_half.compile_id in cuts
    )


def _pair_halves(
    forward: tuple[Graph, ...], backward: tuple[Graph, ...]
) -> Iterator[tuple[Graph, Graph]]:
    """Yield each backward graph with the forward graph of the same compile."""
    for backward_half in backward:
        matching = [graph for graph in forward if graph.compile_id == backward_half.compile_id]
        yield from [(graph, backward_half) for graph in matching[:1]]


def _make_partition(
    index: int, cut: dict[str, CutValue], forward: Graph, backward: Graph
) -> Partition:
    backward_ops = {node.name: node.op for node in backward.nodes}
    values = [
        _parted_value(node, cut[node.name], _find_fate(node, backward_ops))
        for node in forward.nodes
        if node.name in cut
    ]
    saved = {value.storage for value in values if value.fate == "saved"}
    values = [_mark_view_saved(value) if value.storage in saved else value for value in values]
    name = f"partition-{index}" if index else "partition"
    return Partition("What is kept for the backward", name, tuple(values), forward.compile_id)


def _mark_view_saved(value: PartitionedValue) -> PartitionedValue:
    """Mark a forward-only value as saved, because the backward gets a view of it, which keeps the
    storage.
    """
    return replace(value, fate="saved") if value.fate == "forward only" else value


def _find_fate(node: Node, backward_ops: Mapping[str, str]) -> str:
    """Return the fate of a forward node. `backward_ops` has the op of each backward node."""
    if node.op == "placeholder":
        return "input"
    if node.name not in backward_ops:
        return "forward only"
    return "saved" if backward_ops[node.name] == "placeholder" else "recomputed"


def _parted_value(node: Node, cut: CutValue, fate: str) -> PartitionedValue:
    return PartitionedValue(
        name=node.name,
        target=node.target.removeprefix("torch.ops.") if fate != "input" else "",
        fate=fate,
        bytes=cut.bytes,
        storage=cut.storage,
        banned="" if fate == "input" else cut.banned,
        shape=node.shape,
        dtype=node.dtype,
        location=node.source,
    )
