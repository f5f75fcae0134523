"""Compute the sizes of values in a printed graph as numbers. Symbols stand for the first call's
sizes.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.model import Node

#: Symbol → the size for which Dynamo created it.
Hints = Mapping[str, int]

# The first number is the bits of an element.
# f32
_BITS = re.compile(r"[a-z]+(\d+)")
_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_CALLS: dict[str, Callable[..., int]] = {
    "Max": max,
    "Min": min,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
}


@dataclass(frozen=True)
class Sizes:
    """Computes the sizes of values with the `hints` of their symbols."""

    hints: Hints = field(default_factory=dict)

    def shape(self, node: Node) -> tuple[int, ...] | None:
        """Return the node's sizes; None if the node is not a tensor, or if a symbol has no hint."""
        if node.shape is None:
            return None
        sizes = [self.number(text) for text in node.shape]
        known = tuple(size for size in sizes if size is not None)
        return known if len(known) == len(sizes) else None

    def number(self, text: str) -> int | None:
        """Return the value of a size such as ``2*s77``; None if a symbol in it has no hint."""
        if text.isdecimal():
            return int(text)
        try:
            return self._evaluate(ast.parse(text, mode="eval").body)
        except (SyntaxError, KeyError, TypeError, ArithmeticError):
            return None

    def _evaluate(self, value: ast.expr) -> int:
        if isinstance(value, ast.Constant) and isinstance(value.value, int):
            return value.value
        if isinstance(value, ast.Name):
            return self.hints[value.id]
        if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
            return -self._evaluate(value.operand)
        if isinstance(value, ast.BinOp):
            return _BINARY[type(value.op)](self._evaluate(value.left), self._evaluate(value.right))
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            return _CALLS[value.func.id](*map(self._evaluate, value.args))
        raise KeyError(ast.unparse(value))

    def bytes(self, node: Node) -> int | None:
        """Return the bytes of the node's elements; None if the node is not a tensor or its size is
        not known.
        """
        shape, bits = self.shape(node), _BITS.match(node.dtype)
        if shape is None or bits is None:
            return None
        return math.prod(shape) * max(1, int(bits[1]) // 8)


def hints_by_compile(trace: Trace) -> dict[str, dict[str, int]]:
    """Map each compile to the hints of its symbols."""
    hints: dict[str, dict[str, int]] = {}
    for event in trace.select(names.CREATED_SYMBOL):
        value = str(event.data["val"])
        if value.lstrip("-").isdecimal():
            hints.setdefault(event.compile_id, {})[event.data["symbol"]] = int(value)
    return hints
