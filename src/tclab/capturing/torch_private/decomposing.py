"""Trace a function level by level: each level is the one above, run under a table.

While a node of the level above runs, what the tracer makes is made from it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Any

import torch
from torch import fx

from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace.notes import CallNote

NAMES = (
    Private("torch.fx.experimental.proxy_tensor", "make_fx", "tracing with a table"),
    Private("torch.fx.experimental.proxy_tensor", "get_proxy_mode", "the tracer at work"),
    Private("torch._decomp", "core_aten_decompositions", "the table of Core ATen"),
    Private("torch._prims.context", "TorchRefsMode", "what is written with prims"),
    Private("torch.utils._dtype_abbrs", "dtype_abbrs", "types as PyTorch prints them in graphs"),
)

Places = dict[str, tuple[str, int]]  # node → file and line
IsUsers = Callable[[str], bool]  # of a file


def traced(
    fn: Callable[..., Any], args: tuple[object, ...], is_users: IsUsers
) -> Iterator[tuple[CallNote, ...]]:
    """The nodes of `fn` as ATen, as Core ATen and as prims."""
    from torch._decomp import core_aten_decompositions
    from torch._prims.context import TorchRefsMode
    from torch.fx.experimental.proxy_tensor import make_fx

    places: Places = {}
    aten = make_fx(_placed(fn, places, is_users))(*args)
    yield tuple(_notes(aten, {}, places))
    core, origins = _below(aten, args, core_aten_decompositions(), nullcontext())
    yield tuple(_notes(core, origins, {}))
    prims, origins = _below(core, args, {}, TorchRefsMode())
    yield tuple(_notes(prims, origins, {}))


class _Noting(fx.Interpreter):
    """Runs a graph, and notes for each node that is made the node that was running."""

    def __init__(self, module: fx.GraphModule, origins: dict[str, str]) -> None:
        super().__init__(module)
        self.origins = origins

    def run_node(self, node: fx.Node) -> Any:
        from torch.fx.experimental.proxy_tensor import get_proxy_mode

        graph = get_proxy_mode().tracer.graph
        before = len(graph.nodes)
        result = super().run_node(node)
        self.origins.update(dict.fromkeys((n.name for n in list(graph.nodes)[before:]), node.name))
        return result


def _below(
    above: fx.GraphModule,
    args: tuple[object, ...],
    table: Mapping[Any, Callable[..., Any]],
    mode: AbstractContextManager[Any],
) -> tuple[fx.GraphModule, dict[str, str]]:
    """The next level, and for each of its nodes the one above that it was made from."""
    from torch.fx.experimental.proxy_tensor import make_fx

    origins: dict[str, str] = {}

    def run(*inputs: object) -> Any:
        return _Noting(above, origins).run(*inputs)

    with mode:
        return make_fx(run, dict(table))(*args), origins


def _placed(fn: Callable[..., Any], places: Places, is_users: IsUsers) -> Callable[..., Any]:
    """`fn`, which while it is traced notes the user's line of each node."""

    def placed(*args: object) -> Any:
        from torch.fx.experimental.proxy_tensor import get_proxy_mode

        tracer: Any = get_proxy_mode().tracer
        create = tracer.create_node

        def create_node(*args: Any, **kwargs: Any) -> fx.Node:
            node: fx.Node = create(*args, **kwargs)
            places[node.name] = _users_line(is_users)
            return node

        tracer.create_node = create_node
        return fn(*args)

    return placed


def _users_line(is_users: IsUsers) -> tuple[str, int]:
    """File and line of the innermost frame that is the user's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)


def _notes(graph: fx.GraphModule, origins: Mapping[str, str], places: Places) -> Iterator[CallNote]:
    for node in graph.graph.nodes:
        if node.op == "call_function":
            place = places.get(node.name, ("", 0))
            name, target = node.name, _operator(node.target)
            origin, value = origins.get(name, ""), node.meta.get("val")
            yield CallNote(name, target, origin, *_type(value), *place)


def _operator(target: object) -> str:
    return str(target) if isinstance(target, torch._ops.OpOverload) else ""


def _type(value: object) -> tuple[tuple[str, ...] | None, str]:
    if not isinstance(value, torch.Tensor):
        return None, ""
    return tuple(map(str, value.shape)), str(value.dtype).removeprefix("torch.")


def in_short(dtype: str) -> str:
    """A type as PyTorch prints it in graphs: f32 for `float32`, f8e4m3fn for `float8_e4m3fn`.

    As it was where that table lacks it.
    """
    from torch.utils._dtype_abbrs import dtype_abbrs

    return dtype_abbrs.get(getattr(torch, dtype, None), dtype)
