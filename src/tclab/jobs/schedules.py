"""Read what the ranks of a job must have in common: the collectives of each graph, the order in
which the graphs ran, and the tensors that each graph makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tclab.capturing.trace.events import Trace
from tclab.model import UNREADABLE


def read_collectives(trace: Trace) -> Iterator[str]:
    """Yield each collective in the order of its graph's schedule: ``0/1 all_reduce_``."""
    for event in trace.select("inductor_collective_schedule"):
        for name in _read_list(event.payload):
            # torch.ops._c10d_functional.all_reduce_.default
            operator = str(name).removesuffix(".default").rpartition(".")[2]
            yield f"{event.compile_id} {operator}"


def read_executed(trace: Trace) -> Iterator[str]:
    """Yield the compile id of each graph in the order in which the graphs ran."""
    for event in trace.select("graph_execution"):
        for each in _read_list(event.payload, "graph_execution_order"):
            yield str(each.get("compile_id")) if isinstance(each, dict) else ""


def read_tensors(trace: Trace) -> Iterator[str]:
    """Yield each operation of a graph with the tensors that it makes:
    ``0/1 op1: float16 [1024, 1024]``.
    """
    for event in trace.select("inductor_runtime_and_tensor_meta"):
        for operation in _read_list(event.payload, "ops"):
            if isinstance(operation, dict):
                outputs = operation.get("outputs")
                made = [_describe(each) for each in outputs or () if isinstance(each, dict)]
                yield f"{event.compile_id} {operation.get('name')}: {', '.join(made) or 'none'}"


def _describe(tensor: Mapping[str, object]) -> str:
    return f"{tensor.get('dtype')} {tensor.get('shape')} of stride {tensor.get('stride')}"


def _read_list(payload: str, key: str = "") -> list[object]:
    """Return the list in a payload, or the list under a key of it; [] if it has none."""
    try:
        data = json.loads(payload)
    except UNREADABLE:
        return []
    found = data.get(key) if key and isinstance(data, dict) else data
    return found if isinstance(found, list) else []
