"""Build the FX graph from what was read of a runnable."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import fx

from tclab.capturing.runnable import constants
from tclab.capturing.runnable.syntax import Call, PrintedGraph
from tclab.capturing.runnable.values import (
    OPERATORS,
    Device,
    Items,
    Ref,
    Slice,
    TorchName,
    Value,
    refuse,
)
from tclab.capturing.runnable.values import (
    Mapping as Pairs,
)

#: The namespaces of operators that come with PyTorch.
_NAMESPACES = frozenset({
    *("aten", "prims", "prim", "inductor", "_c10d_functional", "rngprims", "quantized_decomposed"),
})  # fmt: skip
#: Operators that read or write files, or that print.
_REFUSED = frozenset({"from_file", "_print", "save"})
#: Operators that take graphs.
_HIGHER_ORDER = frozenset({
    *("cond", "while_loop", "scan", "associative_scan", "map_impl", "invoke_subgraph"),
    *("flex_attention", "flex_attention_backward", "auto_functionalized", "auto_functionalized_v2"),
    *("with_effects", "invoke_quant", "graphsafe_run_with_rng_state", "run_and_save_rng_state"),
    *("triton_kernel_wrapper_functional", "triton_kernel_wrapper_mutation"),
    *("run_with_rng_state", "wait_tensor", "_foreach_map"),
})  # fmt: skip
_CONSTANTS = (torch.dtype, torch.layout, torch.memory_format)
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "math.trunc": math.trunc, "math.ceil": math.ceil, "math.floor": math.floor, "round": round,
}  # fmt: skip


def build_graph(printed: PrintedGraph, tensors: Mapping[str, torch.Tensor]) -> fx.GraphModule:
    """Return a printed graph as a module. Each node has the name and the operator that is printed.
    `tensors` are the tensors that the graph holds. Raises Refused for an operator that this PyTorch
    does not have.
    """
    root = torch.nn.Module()
    for name, tensor in tensors.items():
        root.register_buffer(name, tensor)
    for name, inner in printed.inner.items():
        root.add_module(name, build_graph(inner, {}))
    graph, nodes = fx.Graph(), {}
    for name in printed.inputs:
        nodes[name] = graph.create_node("placeholder", name, name=name)
    for call in printed.calls:
        nodes[call.name] = _add_node(graph, root, call, nodes)
    graph.output(_convert(printed.output, nodes))
    module = fx.GraphModule(root, graph)
    changed = [name for name, node in nodes.items() if node.name != name]
    if changed:
        raise refuse(f"the name {changed[0]}", ast.Constant(None), "no node has such a name")
    return module


def _add_node(
    graph: fx.Graph, root: torch.nn.Module, call: Call, nodes: Mapping[str, fx.Node]
) -> fx.Node:
    at = ast.Constant(None, lineno=call.line)
    if call.target.startswith("self."):
        name = call.target.removeprefix("self.")
        if name not in root._buffers and name not in root._modules:
            raise refuse(call.target, at, "the graph holds nothing of this name")
        return graph.create_node("get_attr", name, name=call.name)
    target = find_function(call.target, at)
    args = tuple(_convert(each, nodes) for each in call.args)
    kwargs = {name: _convert(value, nodes) for name, value in call.kwargs}
    node = graph.create_node("call_function", target, args, kwargs, name=call.name)
    if isinstance(target, torch._ops.OpOverload):
        node.meta["original_aten"] = target  # of it, Inductor makes the names of kernels
    return node


def find_function(path: str, at: ast.AST) -> Callable[..., Any]:
    """Return the operator with this name. Raises Refused for one that is not PyTorch's."""
    if path in _FUNCTIONS:
        return _FUNCTIONS[path]
    if path.startswith("operator."):
        return getattr(operator, path.removeprefix("operator."))
    if path.startswith(("torch.sym_", "torch._sym_")):
        return getattr(torch, path.removeprefix("torch."))
    namespace, _, name = path.removeprefix(OPERATORS).partition(".")
    if namespace == "higher_order" and name in _HIGHER_ORDER:
        return getattr(torch.ops.higher_order, name)
    packet, _, overload = name.partition(".")
    if namespace in _NAMESPACES and packet not in _REFUSED and not packet.startswith("__"):
        try:
            found = getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")
        except AttributeError:
            found = None
        if isinstance(found, torch._ops.OpOverload):
            return found
    raise refuse(path, at, f"PyTorch {torch.__version__} has no such operator")


def convert_constant(value: Value) -> Any:
    """Return a value that names no node as an argument of Python."""
    return _convert(value, {})


def _convert(value: Value, nodes: Mapping[str, fx.Node]) -> Any:
    if isinstance(value, Ref):
        return nodes[value.name]
    if isinstance(value, Items):
        values = [_convert(each, nodes) for each in value.values]
        return tuple(values) if value.is_tuple else values
    if isinstance(value, Slice):
        return slice(*(_convert(each, nodes) for each in value.parts))
    if isinstance(value, Pairs):
        return {_convert(k, nodes): _convert(v, nodes) for k, v in value.pairs}
    if isinstance(value, Device):
        return constants.as_device(value)
    if isinstance(value, TorchName):
        if value.path.startswith(OPERATORS):
            return find_function(value.path, ast.Constant(None))
        found = getattr(torch, value.path.removeprefix("torch."), None)
        if not isinstance(found, _CONSTANTS):
            raise refuse(value.path, ast.Constant(None), "no constant of PyTorch")
        return found
    return value
