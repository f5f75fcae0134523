"""One function as a graph of operators at four levels, each made from the level above it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import core_aten_decompositions
from torch._inductor.decomposition import select_decomp_table
from torch._prims.context import TorchRefsMode
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx


def levels(fn: Callable[..., Any], *args: torch.Tensor) -> dict[str, GraphModule]:
    """`fn` traced with real arguments. No optimisation, and no kernels."""
    tables = {
        "ATen": {},
        "Core ATen": core_aten_decompositions(),
        "Inductor": select_decomp_table(),
    }
    graphs = {level: make_fx(fn, table)(*args) for level, table in tables.items()}
    with TorchRefsMode():  # what has a definition in prims is replaced by it
        graphs["Prims"] = make_fx(lambda *args: graphs["Inductor"](*args))(*args)
    return graphs


def operations(graph: GraphModule) -> list[str]:
    """The operators a graph calls, in order; picking one of several results is none."""
    calls = (node for node in graph.graph.nodes if node.op == "call_function")
    return [
        str(n.target).removesuffix(".default")
        for n in calls
        if isinstance(n.target, torch._ops.OpOverload)
    ]


def lines(graph: GraphModule) -> str:
    """One line for each call: its name, its operator and its arguments."""
    calls = [node for node in graph.graph.nodes if node.op == "call_function"]
    targets = [str(getattr(n.target, "__name__", n.target)).removesuffix(".default") for n in calls]
    spaces = [getattr(n.target, "namespace", "operator") for n in calls]
    written = zip(calls, spaces, targets, strict=True)
    return "\n".join(f"{n.name} = {space}.{target}{n.args}" for n, space, target in written)
