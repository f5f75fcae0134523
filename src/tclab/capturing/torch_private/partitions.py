"""Note each min cut of AOTAutograd's partitioner, with the values that it must not recompute.

The partitioner builds a graph of weights in `solve_min_cut` and drops this graph after the cut. An
edge from the graph's source to a value means that recomputing the value is banned; the edge has the
reason. An event ``links_cut`` in the Trace holds these values.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar
from unittest import mock

import torch

from tclab.capturing.torch_private import compiler
from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.notes import CutNote, CutValue

T = TypeVar("T")

NAMES = (Private("torch._functorch.partitioners", "solve_min_cut", "what may not be recomputed"),)

# cannot recompute: not in recomputable allowlist
_BAN_PREFIX = "cannot recompute"
#: The reason shown for the two heuristics of PyTorch that record no reason.
_HEURISTIC_REASON = "used far apart, or at the end of a long chain"


@contextmanager
def note_cuts(trace: Trace) -> Iterator[None]:
    """Add an event to `trace` for each min cut during the block."""
    from torch._functorch import partitioners

    wrapped = _wrap_solve_min_cut(partitioners.solve_min_cut, trace)
    with mock.patch.object(partitioners, "solve_min_cut", wrapped):
        yield


def _wrap_solve_min_cut(original: Callable[..., T], trace: Trace) -> Callable[..., T]:
    @functools.wraps(original)
    def solve_min_cut(joint_graph: Any, *args: object, **kwargs: object) -> T:
        with _collect_weight_graphs() as graphs:
            result = original(joint_graph, *args, **kwargs)
        if graphs:
            note = CutNote(tuple(_cut_values(joint_graph, graphs[-1])))
            trace.add(names.CUT, note, "", compiler.current_compile_ids())
        return result

    return solve_min_cut


@contextmanager
def _collect_weight_graphs() -> Iterator[list[Any]]:
    """Yield a list to which each weight graph that is cut during the block is appended."""
    graphs: list[Any] = []
    owner = _minimum_cut_module()
    cut = owner.minimum_cut

    def minimum_cut(graph: Any, *args: object, **kwargs: object) -> Any:
        graphs.append(graph)
        return cut(graph, *args, **kwargs)

    with mock.patch.object(owner, "minimum_cut", minimum_cut):
        yield graphs


def _minimum_cut_module() -> ModuleType:
    """Return the module whose `minimum_cut` the partitioner calls: networkx, or from PyTorch 2.15
    on the partitioner's own module.
    """
    from torch._functorch import partitioners

    own: ModuleType = partitioners
    return own if hasattr(own, "minimum_cut") else importlib.import_module("networkx")


def _cut_values(joint_graph: Any, weights: Any) -> Iterator[CutValue]:
    storages: dict[int, int] = {}
    for node in joint_graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            number = storages.setdefault(storage._cdata, len(storages))
            yield CutValue(
                node.name,
                _concrete_bytes(storage.nbytes()),
                number,
                _ban_reason(weights, node.name),
            )


def _concrete_bytes(size: Any) -> int:
    """Return a size in bytes as a number. For a symbolic size return its hint, or 0 without a
    hint.
    """
    hint = size if isinstance(size, int) else getattr(size.node, "hint", None)
    return int(hint) if isinstance(hint, int) else 0


def _ban_reason(weights: Any, name: str) -> str:
    edge = weights.get_edge_data("source", f"{name}_in")
    if edge is None:
        return ""
    reason = str(edge.get("reason", "")).removeprefix(_BAN_PREFIX).removeprefix(": ")
    return reason or _HEURISTIC_REASON
