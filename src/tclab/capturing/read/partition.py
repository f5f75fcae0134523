"""What the partitioner did with each value of a forward: from its cut and the two halves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.notes import CutValue
from tclab.model import Graph, Node, PartedValue, Partition


def partitions(
    trace: Trace, forward: tuple[Graph, ...], backward: tuple[Graph, ...]
) -> tuple[Partition, ...]:
    """One for each joint graph that was cut, in order. With a budget of memory a graph is cut
    several times; what counts is the first cut, whose bans are the default's.
    """
    cuts: dict[str, dict[str, CutValue]] = {}
    for event in trace.named(names.CUT):
        cuts.setdefault(event.compile_id, {value.name: value for value in event.data.values})
    return tuple(
        _partition(index, cuts[there.compile_id], there, back)
        for index, (there, back) in enumerate(_halves(forward, backward))
        if there.compile_id in cuts
    )


def _halves(
    forward: tuple[Graph, ...], backward: tuple[Graph, ...]
) -> Iterator[tuple[Graph, Graph]]:
    """Each backward with the forward of the same compile."""
    for back in backward:
        yield from [(f, back) for f in forward if f.compile_id == back.compile_id][:1]


def _partition(index: int, cut: dict[str, CutValue], forward: Graph, backward: Graph) -> Partition:
    there = {node.name: node.op for node in backward.nodes}
    values = [
        _value(node, cut[node.name], _fate(node, there))
        for node in forward.nodes
        if node.name in cut
    ]
    saved = {value.storage for value in values if value.fate == "saved"}
    values = [_kept_as_a_view(value) if value.storage in saved else value for value in values]
    name = f"partition-{index}" if index else "partition"
    return Partition("What is kept for the backward", name, tuple(values), forward.compile_id)


def _kept_as_a_view(value: PartedValue) -> PartedValue:
    """What only a view of is handed on is saved all the same: they are one storage."""
    return replace(value, fate="saved") if value.fate == "forward only" else value


def _fate(node: Node, there: Mapping[str, str]) -> str:
    """`there` are the backward's nodes: what each is, by its name."""
    if node.op == "placeholder":
        return "input"
    if node.name not in there:
        return "forward only"
    return "saved" if there[node.name] == "placeholder" else "recomputed"


def _value(node: Node, cut: CutValue, fate: str) -> PartedValue:
    return PartedValue(
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
