"""Read the values in a printed FX graph from their syntax: literals, names of nodes, and names of
PyTorch's dtypes, devices and layouts. Nothing is evaluated but literals.
"""

from __future__ import annotations

import ast
from collections.abc import Container
from dataclasses import dataclass
from typing import TypeAlias

from tclab.capturing.read.output_code import dotted_name
from tclab.errors import TclabError


class Refused(TclabError):
    """Raised for syntax that no graph of Inductor's has."""


@dataclass(frozen=True)
class Ref:
    """The value of the node with this name."""

    name: str


@dataclass(frozen=True)
class TorchName:
    """A constant of PyTorch, such as ``torch.float32``, or an operator that is an argument."""

    path: str


@dataclass(frozen=True)
class Device:
    """A device; `index` is None if it is not given."""

    type: str
    index: int | None = None


@dataclass(frozen=True)
class Slice:
    """The arguments of a slice."""

    parts: tuple[Value, ...]


@dataclass(frozen=True)
class Mapping:
    """A dictionary, as pairs."""

    pairs: tuple[tuple[Value, Value], ...]


@dataclass(frozen=True)
class Items:
    """A list, or a tuple."""

    values: tuple[Value, ...]
    is_tuple: bool = False


Value: TypeAlias = (
    "bool | int | float | str | Ref | TorchName | Device | Slice | Mapping | Items | None"
)
_LITERALS = (bool, int, float, str, type(None))
#: The names that a graph's values have without a dot.
_NAMED = {"inf": float("inf"), "nan": float("nan")}
#: The beginnings of the names of operators.
OPERATORS = "torch.ops."


def refuse(what: str, node: ast.AST, cause: str = "no graph of Inductor's has it") -> Refused:
    """Return the error for a part of the text; its place is the line."""
    line = getattr(node, "lineno", 0)
    step = "see the record fx_graph_runnable; only what Inductor prints there is read"
    return Refused(f"fx_graph_runnable, line {line}", f"{what}: {cause}", step)


def shown(node: ast.AST) -> str:
    """Return the text of a node, at most a line of it."""
    try:
        return " ".join(ast.unparse(node).split())[:80]
    except (RecursionError, ValueError):
        return type(node).__name__


def read_value(node: ast.expr, known: Container[str]) -> Value:
    """Return the value of an argument. `known` are the names of the nodes before it. Raises Refused
    for anything but a literal, a node, or a constant of PyTorch.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, _LITERALS):
        return node.value
    if isinstance(node, ast.Name):
        if node.id in known:
            return Ref(node.id)
        if node.id in _NAMED:
            return _NAMED[node.id]
    elif isinstance(node, (ast.List, ast.Tuple)):
        values = tuple(read_value(each, known) for each in node.elts)
        return Items(values, isinstance(node, ast.Tuple))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = read_value(node.operand, ())
        if isinstance(value, (int, float)):
            return -value
    elif isinstance(node, ast.Dict) and all(node.keys):
        pairs = zip(node.keys, node.values)
        return Mapping(tuple((read_value(k, known), read_value(v, known)) for k, v in pairs if k))
    elif isinstance(node, ast.Attribute) and (path := dotted_name(node)).startswith("torch."):
        return TorchName(path)
    elif isinstance(node, ast.Call):
        return _read_call(node, known)
    raise refuse(shown(node), node)


def _read_call(node: ast.Call, known: Container[str]) -> Value:
    """Return the value of ``device(type='cuda', index=0)`` or ``slice(None, 3, None)``."""
    name = dotted_name(node.func)
    if name in ("device", "torch.device"):
        arguments = [read_value(each, ()) for each in node.args]
        named = {each.arg: read_value(each.value, ()) for each in node.keywords}
        kind, index = [*arguments, named.get("type"), named.get("index")][0], named.get("index")
        if isinstance(kind, str) and (index is None or isinstance(index, int)):
            return Device(kind, index)
    if name == "slice" and not node.keywords:
        return Slice(tuple(read_value(each, known) for each in node.args))
    raise refuse(shown(node), node)
