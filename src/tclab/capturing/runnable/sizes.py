"""Make the symbols of a graph's sizes, and compute sizes from what a trace prints of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import TypeAlias

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from torch.utils._sympy.value_ranges import ValueRanges

from tclab.capturing.runnable.values import refuse, shown

Size: TypeAlias = "int | torch.SymInt"
# [2, int_oo]
_RANGE = re.compile(r"\[(-?\d+|-int_oo), (-?\d+|int_oo)\]|VR\[(-?\d+|-int_oo), (-?\d+|int_oo)\]")
# s33
_SYMBOL = re.compile(r"s(\d+)")


def make_sizes(
    shape_env: ShapeEnv, hints: Mapping[str, int], ranges: Mapping[str, str]
) -> dict[str, Size]:
    """Return the size of each symbol in `hints`, which has its value and the range in `ranges`,
    such as ``[2, int_oo]``.
    """
    return {name: _make_size(shape_env, name, hint, ranges) for name, hint in hints.items()}


def _make_size(
    shape_env: ShapeEnv, name: str, hint: int, ranges: Mapping[str, str]
) -> torch.SymInt:
    from torch._dynamo.source import ConstantSource

    match = _SYMBOL.fullmatch(name)
    if match is None:
        raise refuse(f"symbol {name}", ast.Constant(None), "only sizes of inputs are known")
    number, source = int(match[1]), ConstantSource(name)
    # the symbol gets its name by this method, from a hash of the source in the job
    shape_env._generate_unique_id = lambda name: number
    expression = shape_env.create_symbol(
        hint, source, DimDynamic.DYNAMIC, None, do_not_specialize_zero_one=True
    )
    if (found := _RANGE.search(ranges.get(name, ""))) and isinstance(expression, sympy.Symbol):
        low, high = (each for each in found.groups() if each is not None)
        shape_env.var_to_range[expression] = ValueRanges(_bound(low), _bound(high))
    return shape_env.create_symintnode(expression, hint=hint, source=source)


def _bound(text: str) -> sympy.Expr:
    from torch.utils._sympy.numbers import int_oo

    return {"int_oo": int_oo, "-int_oo": -int_oo}.get(text) or sympy.Integer(int(text))


def compute_size(node: ast.expr, sizes: Mapping[str, Size]) -> Size:
    """Return the size that an expression of symbols names, such as ``3*s69**2``. Raises Refused for
    anything but arithmetic on integers and symbols.
    """
    match node:
        case ast.Constant(int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(name) if name in sizes:
            return sizes[name]
        case ast.UnaryOp(ast.USub(), operand):
            return -compute_size(operand, sizes)
        case ast.BinOp(left, op, right):
            return _compute(op, compute_size(left, sizes), compute_size(right, sizes), node)
        case ast.Call(ast.Name(name), [left, right], []):
            one, two = compute_size(left, sizes), compute_size(right, sizes)
            if name == "Max":
                return torch.sym_max(one, two)
            if name == "Min":
                return torch.sym_min(one, two)
            if name in ("Mod", "PythonMod"):
                return one % two
            if name == "FloorDiv":
                return one // two
    raise refuse(shown(node), node, "no size")


def _compute(op: ast.operator, left: Size, right: Size, node: ast.expr) -> Size:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv():
            return left // right
        case ast.Mod():
            return left % right
        case ast.Pow() if isinstance(right, int) and 0 <= right <= 8 and not _is_huge(left):
            return left**right
    raise refuse(shown(node), node, "no size")


def _is_huge(size: Size) -> bool:
    return isinstance(size, int) and abs(size) > 1 << 31


def compute_sizes(node: ast.expr, sizes: Mapping[str, Size]) -> list[Size]:
    """Return the sizes in a tuple or list."""
    if not isinstance(node, (ast.Tuple, ast.List)):
        raise refuse(shown(node), node, "no sizes")
    return [compute_size(each, sizes) for each in node.elts]


def parse_size(text: str) -> ast.expr:
    """Return the syntax of a printed size. Raises Refused for a text that is not Python."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise refuse(text[:80], ast.Constant(None), "no size") from error
