"""Expressions that are true whatever a run does: an assert of one proves nothing."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable
from typing import Any

_COMPARES: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_SUMS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}

_UNPACKED = (ast.Starred, ast.FormattedValue)


def truth(node: ast.expr) -> bool | None:
    """Whether an expression is true or false in every run; None where a run decides."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            known = truth(operand)
            return None if known is None else not known
        case ast.BoolOp(op=op, values=values):
            return _either(map(truth, values), decides=isinstance(op, ast.Or))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            known = truth(test)
            ends = {truth(body), truth(orelse)} if known is None else {truth((orelse, body)[known])}
            return ends.pop() if len(ends) == 1 else None
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [left, *others]
            pairs = (_compared(*each) for each in zip(ops, sides, others))
            return _either(pairs, decides=False)
        case ast.NamedExpr(value=value):
            return truth(value)
        case ast.Lambda() | ast.GeneratorExp():
            return True
    return _filled(node)


def _either(known: Iterable[bool | None], *, decides: bool) -> bool | None:
    """Of ``or`` (a true one decides) or ``and`` (a false one does)."""
    every = set(known)
    if decides in every:
        return decides
    return None if None in every else not decides


def _compared(op: ast.cmpop, left: ast.expr, right: ast.expr) -> bool | None:
    try:
        return bool(_COMPARES[type(op)](_value(left), _value(right)))
    except (ValueError, TypeError):
        return None


def _value(node: ast.expr) -> Any:
    """What a literal is, or a sum of numbers. ValueError for anything else."""
    if isinstance(node, ast.BinOp) and type(node.op) in _SUMS:
        sides = _value(node.left), _value(node.right)
        if all(isinstance(side, (int, float)) for side in sides):
            return _SUMS[type(node.op)](*sides)
    return ast.literal_eval(node)


def _filled(node: ast.expr) -> bool | None:
    """Whether a literal holds anything; what is unpacked into it is not known."""
    parts: list[Any]
    match node:
        case (
            ast.List(elts=parts)
            | ast.Tuple(elts=parts)
            | ast.Set(elts=parts)
            | ast.Dict(keys=parts)
            | ast.JoinedStr(values=parts)
        ):
            unknown = [part for part in parts if part is None or isinstance(part, _UNPACKED)]
            return True if len(parts) > len(unknown) else None if parts else False
    return _constant(node)


def _constant(node: ast.expr) -> bool | None:
    try:
        return bool(_value(node))
    except (ValueError, TypeError):
        return None
