"""Trace a function at three levels of operators: ATen, Core ATen, prims.

To get a level, an interpreter runs the graph of the level above under a decomposition table. The
nodes that the tracer makes while it runs one node are that node's decomposition.
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

UserLines = dict[str, tuple[str, int]]  # node name → file and line
IsUserFile = Callable[[str], bool]  # file name → whether the file is the user's


def trace_levels(
    fn: Callable[..., Any], args: tuple[object, ...], is_user_file: IsUserFile
) -> Iterator[tuple[CallNote, ...]]:
    """Yield the calls of `fn` as ATen, then as Core ATen, then as prims."""
    from torch._decomp import core_aten_decompositions
    from torch._prims.context import TorchRefsMode
    from torch.fx.experimental.proxy_tensor import make_fx

    user_lines: UserLines = {}
    aten = make_fx(_wrap_to_note_lines(fn, user_lines, is_user_file))(*args)
    yield tuple(_call_notes(aten, {}, user_lines))
    core, origins = _trace_below(aten, args, core_aten_decompositions(), nullcontext())
    yield tuple(_call_notes(core, origins, {}))
    prims, origins = _trace_below(core, args, {}, TorchRefsMode())
    yield tuple(_call_notes(prims, origins, {}))


class _OriginInterpreter(fx.Interpreter):
    """Runs a graph under a tracer, and maps each new node's name to the name of the node being
    run.
    """

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


def _trace_below(
    upper_graph: fx.GraphModule,
    args: tuple[object, ...],
    table: Mapping[Any, Callable[..., Any]],
    mode: AbstractContextManager[Any],
) -> tuple[fx.GraphModule, dict[str, str]]:
    """Return the graph of the next level, and a map from its node names to node names in the level
    above.
    """
    from torch.fx.experimental.proxy_tensor import make_fx

    origins: dict[str, str] = {}

    def run(*inputs: object) -> Any:
        return _OriginInterpreter(upper_graph, origins).run(*inputs)

    with mode:
        return make_fx(run, dict(table))(*args), origins


def _wrap_to_note_lines(
    fn: Callable[..., Any], user_lines: UserLines, is_user_file: IsUserFile
) -> Callable[..., Any]:
    """Wrap `fn` so that tracing it adds the user's line of each node to `user_lines`."""

    def fn_noting_lines(*args: object) -> Any:
        from torch.fx.experimental.proxy_tensor import get_proxy_mode

        tracer: Any = get_proxy_mode().tracer
        create = tracer.create_node

        def create_node(*args: Any, **kwargs: Any) -> fx.Node:
            node: fx.Node = create(*args, **kwargs)
            user_lines[node.name] = _innermost_user_line(is_user_file)
            return node

        tracer.create_node = create_node
        return fn(*args)

    return fn_noting_lines


def _innermost_user_line(is_user_file: IsUserFile) -> tuple[str, int]:
    """Return file and line of the innermost frame in a file of the user's, or ("", 0)."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)


def _call_notes(
    graph: fx.GraphModule, origins: Mapping[str, str], user_lines: UserLines
) -> Iterator[CallNote]:
    for node in graph.graph.nodes:
        if node.op == "call_function":
            user_line = user_lines.get(node.name, ("", 0))
            name, target = node.name, _operator_name(node.target)
            origin, value = origins.get(name, ""), node.meta.get("val")
            yield CallNote(name, target, origin, *_shape_and_dtype(value), *user_line)


def _operator_name(target: object) -> str:
    return str(target) if isinstance(target, torch._ops.OpOverload) else ""


def _shape_and_dtype(value: object) -> tuple[tuple[str, ...] | None, str]:
    if not isinstance(value, torch.Tensor):
        return None, ""
    return tuple(map(str, value.shape)), short_dtype(str(value.dtype).removeprefix("torch."))


def short_dtype(dtype: str) -> str:
    """Abbreviate a dtype as PyTorch prints it in graphs: f32 for `float32`, f8e4m3fn for
    `float8_e4m3fn`. Return `dtype` unchanged if PyTorch has no abbreviation for it.
    """
    from torch.utils._dtype_abbrs import dtype_abbrs

    return dtype_abbrs.get(getattr(torch, dtype, None), dtype)
