"""What the partitioner cut, and what it banned from being computed again, as it happens.

Its graph of weights has an edge from the source to each value that may not be computed again,
and says why. That graph is PyTorch's own (`solve_min_cut`), and gone when the cut is found; so
the cut is noted, and what it was asked joins the Trace as an event ``links_cut``.
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
_BANNED = "cannot recompute"
#: Two heuristics give no reason of their own.
_HEURISTIC = "used far apart, or at the end of a long chain"


@contextmanager
def noting(trace: Trace) -> Iterator[None]:
    """Note each cut in `trace` for the length of the block."""
    from torch._functorch import partitioners

    noted = _noted(partitioners.solve_min_cut, trace)
    with mock.patch.object(partitioners, "solve_min_cut", noted):
        yield


def _noted(original: Callable[..., T], trace: Trace) -> Callable[..., T]:
    @functools.wraps(original)
    def solve_min_cut(joint_graph: Any, *args: object, **kwargs: object) -> T:
        with _weighted() as graphs:
            result = original(joint_graph, *args, **kwargs)
        if graphs:
            note = CutNote(tuple(_values(joint_graph, graphs[-1])))
            trace.add(names.CUT, note, "", compiler.compile_id())
        return result

    return solve_min_cut


@contextmanager
def _weighted() -> Iterator[list[Any]]:
    """The graphs of weights whose minimum cut is sought in the block."""
    graphs: list[Any] = []
    owner = _owner()
    cut = owner.minimum_cut

    def minimum_cut(graph: Any, *args: object, **kwargs: object) -> Any:
        graphs.append(graph)
        return cut(graph, *args, **kwargs)

    with mock.patch.object(owner, "minimum_cut", minimum_cut):
        yield graphs


def _owner() -> ModuleType:
    """Where the partitioner looks its cut up: in networkx, from PyTorch 2.15 on in itself."""
    from torch._functorch import partitioners

    own: ModuleType = partitioners
    return own if hasattr(own, "minimum_cut") else importlib.import_module("networkx")


def _values(joint_graph: Any, weights: Any) -> Iterator[CutValue]:
    storages: dict[int, int] = {}
    for node in joint_graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            number = storages.setdefault(storage._cdata, len(storages))
            yield CutValue(node.name, _number(storage.nbytes()), number, _why(weights, node.name))


def _number(size: Any) -> int:
    """A size in bytes; of a symbolic one the value it was met with, 0 where there is none."""
    hint = size if isinstance(size, int) else getattr(size.node, "hint", None)
    return int(hint) if isinstance(hint, int) else 0


def _why(weights: Any, name: str) -> str:
    edge = weights.get_edge_data("source", f"{name}_in")
    if edge is None:
        return ""
    reason = str(edge.get("reason", "")).removeprefix(_BANNED).removeprefix(": ")
    return reason or _HEURISTIC
