"""Find expressions and values that are true in every run, so that asserting them proves nothing."""

from __future__ import annotations

import ast
import math
import operator
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from itertools import islice
from types import ModuleType
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
_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_SUMS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}

#: Functions that return the same value for the same arguments.
_PURE = (
    *("len", "abs", "sorted", "set", "list", "tuple"),
    *("sum", "min", "max", "str", "repr", "round"),
)
#: Expressions whose value is a new object, which is identical with no other.
_NEW_OBJECTS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Lambda)
_UNPACKED_NODES = (ast.Starred, ast.FormattedValue)


def fold_truth(node: ast.expr) -> bool | None:
    """Return the truth of an expression if it is the same in every run, else None."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            known = fold_truth(operand)
            return None if known is None else not known
        case ast.BoolOp(op=ast.Or(), values=values) if _has_opposites(values):
            return True
        case ast.BoolOp(op=op, values=values):
            return _combine(map(fold_truth, values), decides=isinstance(op, ast.Or))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            known = fold_truth(test)
            ends = (
                {fold_truth(body), fold_truth(orelse)}
                if known is None
                else {fold_truth((orelse, body)[known])}
            )
            return ends.pop() if len(ends) == 1 else None
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [left, *others]
            pairs = (_compare(*each) for each in zip(ops, sides, others))
            return _combine(pairs, decides=False)
        case ast.NamedExpr(value=value):
            return fold_truth(value)
        case ast.Lambda() | ast.GeneratorExp():
            return True
        case ast.Call(func=ast.Name("isinstance"), args=[_, kinds]) if _has_object(kinds):
            return True
        case ast.Call(func=ast.Name("bool"), args=[value], keywords=[]):
            return fold_truth(value)
        case ast.Call(func=ast.Name("set" | "frozenset" | "dict" | "list"), args=[], keywords=[]):
            return False
    return _container_truth(node)


def _has_object(kinds: ast.expr) -> bool:
    """Return whether `object` is among the kinds of an ``isinstance``."""
    return any(isinstance(node, ast.Name) and node.id == "object" for node in ast.walk(kinds))


def _has_opposites(values: list[ast.expr]) -> bool:
    """Return whether two of the values are opposites, so that one of them is always true: ``n == 3
    or n != 3``.
    """
    opposites = {ast.dump(_negate(value)) for value in values if _is_fixed(value)}
    return any(ast.dump(value) in opposites for value in values)


def _negate(value: ast.expr) -> ast.expr:
    match value:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Compare(left=left, ops=[op], comparators=others) if type(op) in _OPPOSITES:
            return ast.Compare(left, [_OPPOSITES[type(op)]()], others)
    return ast.UnaryOp(ast.Not(), value)


def _combine(known: Iterable[bool | None], *, decides: bool) -> bool | None:
    """Return the truth of an ``or``, which one true value decides, or of an ``and``, which one
    false value decides; None if it is not known.
    """
    every = set(known)
    if decides in every:
        return decides
    return None if None in every else not decides


def _compare(op: ast.cmpop, left: ast.expr, right: ast.expr) -> bool | None:
    if isinstance(op, (ast.Is, ast.IsNot)) and isinstance(right, _NEW_OBJECTS):
        return isinstance(op, ast.IsNot)
    if isinstance(op, (ast.Is, ast.Eq, ast.LtE, ast.GtE)) and _is_fixed(left):
        if ast.dump(left) == ast.dump(right):
            return True
        if isinstance(op, ast.GtE) and _is_never_negative(left) and _literal_truth(right) is False:
            return True
    try:
        return bool(_COMPARES[type(op)](_evaluate(left), _evaluate(right)))
    except (ValueError, TypeError):
        return None


def _is_fixed(node: ast.expr) -> bool:
    """Return whether an expression has the same value wherever it stands in one test: it may call
    only functions that return the same for the same arguments.
    """
    calls = (each for each in ast.walk(node) if isinstance(each, (ast.Call, ast.Await)))
    return all(isinstance(each, ast.Call) and _called_name(each) in _PURE for each in calls)


def _is_never_negative(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _called_name(node) in ("len", "abs")


def _called_name(call: ast.Call) -> str:
    return ast.unparse(call.func)


def _evaluate(node: ast.expr) -> Any:
    """Return the value of a literal, or of a sum of numbers. Raises ValueError for any other
    expression.
    """
    if isinstance(node, ast.BinOp) and type(node.op) in _SUMS:
        sides = _evaluate(node.left), _evaluate(node.right)
        if all(isinstance(side, (int, float)) for side in sides):
            return _SUMS[type(node.op)](*sides)
    return ast.literal_eval(node)


def _container_truth(node: ast.expr) -> bool | None:
    """Return the truth of a container literal; None if all its items come from unpacking."""
    parts: list[Any]
    match node:
        case (
            ast.List(elts=parts)
            | ast.Tuple(elts=parts)
            | ast.Set(elts=parts)
            | ast.Dict(keys=parts)
            | ast.JoinedStr(values=parts)
        ):
            unknown = [part for part in parts if part is None or isinstance(part, _UNPACKED_NODES)]
            return True if len(parts) > len(unknown) else None if parts else False
    return _literal_truth(node)


def _literal_truth(node: ast.expr) -> bool | None:
    try:
        return bool(_evaluate(node))
    except (ValueError, TypeError):
        return None


# --------------------------------------------------------------------------- values


def is_mock(value: object) -> bool:
    """Return whether `unittest.mock` made a value. The file itself decides what a mock is equal to
    and what it does, so a claim about a mock proves nothing.
    """
    return "unittest.mock" in {getattr(kind, "__module__", "") for kind in type(value).__mro__}


#: The methods with which a class decides what its objects equal or contain, and which objects count
#: as its instances.
_COMPARISON_METHODS = (
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"),
    *("__instancecheck__", "__subclasscheck__"),
)
_TRUTH_METHODS = ("__bool__", "__len__")
#: Containers that compare their items, and the most items that are looked at.
_CONTAINERS, _MOST_ITEMS = (list, tuple, set, frozenset, dict), 100


def describe_own_truth(value: object) -> str:
    """Describe a value whose truth a class of the snippet decides; '' for another value."""
    return _describe_own_method(value, _TRUTH_METHODS)


def describe_own_comparison(value: object) -> str:
    """Describe a value for which a class of the snippet decides what it equals or contains; '' for
    another value. Values in a container count, too.
    """
    if isinstance(value, _CONTAINERS):
        items = [*value, *value.values()] if isinstance(value, dict) else value
        return next(filter(None, map(_describe_own_method, islice(items, _MOST_ITEMS))), "")
    return _describe_own_method(value)


def _describe_own_method(value: object, methods: tuple[str, ...] = _COMPARISON_METHODS) -> str:
    """Describe a value whose class has one of the `methods` from the file, or from a helper beside
    it.
    """
    kind = type(value)
    for name in methods:
        code = getattr(getattr(kind, name, None), "__code__", None)
        if code and _is_own_file(code.co_filename):
            article = "an" if kind.__name__[0] in "AEIOU" else "a"
            made_up = "the file itself made up: compare what it holds"
            return f"{article} {kind.__name__}, whose {name} {made_up}"
    return ""


def _is_own_file(file: str) -> bool:
    """Return whether code is of the snippet, whose file has a relative name, or of its folder. What
    `dataclass` generates, which compares all fields, has no file. A package that is installed below
    the folder is not the snippet's.
    """
    installed = "site-packages" in file or "dist-packages" in file
    beside = sys.path[0] and file.startswith(sys.path[0]) and not installed
    return not file.startswith("<") and (not os.path.isabs(file) or bool(beside))


_NEVER_FALSE = (Iterator, AsyncIterator, Awaitable, ModuleType)


def describe_always_true(value: object) -> str:
    """Describe the value of a test that cannot be false, such as a function or a tuple, with the
    next step; '' for a value that can be false.
    """
    kind = type(value)
    if value is NotImplemented:  # the result of `(1).__eq__("1")`, which is true as a condition
        return "NotImplemented, which is true though nothing was compared: write it as a == b"
    if isinstance(value, tuple) and value:
        return f"a tuple of {len(value)}, which is true whatever stands in it: compare it"
    if is_mock(value):
        return f"a {kind.__name__}, which the file itself made up: assert what the run showed"
    if own := describe_own_truth(value):
        return own
    can_be_false = hasattr(kind, "__bool__") or hasattr(kind, "__len__")
    if isinstance(value, type) or (not can_be_false and _is_never_false(value)):
        name = getattr(value, "__name__", "")
        what = f"the {kind.__name__} {name}" if name else f"a {kind.__name__} object"
        return f"{what}, which is true whatever it would say: call it, or compare what it gives"
    return ""


def _is_never_false(value: object) -> bool:
    return callable(value) or isinstance(value, _NEVER_FALSE)


def describe_same(left: object, right: object) -> str:
    """Describe the object if both sides are the same list, tensor or other object that can change,
    because then they are equal whatever the object holds; else return ''. Equal numbers, texts and
    tuples may also be one object, and do not count.
    """
    if left is None and right is None:
        return "a comparison of None with None: compare what a run gave, or say it with is"
    if left is right and (type(left).__hash__ is None or hasattr(left, "numel")):
        return "a comparison of one object with itself: compare with a copy, or say it with is"
    return ""


#: Values of two of these kinds are never equal.
_KINDS: tuple[type | tuple[type, ...], ...] = ((int, float, complex), str, bytes, list, tuple, dict)


def describe_other_kind(left: object, right: object) -> str:
    """Describe two values whose kinds are never equal, such as 2 and '2'; return '' for other
    values.
    """
    if left is not right and any(
        isinstance(side, float) and math.isnan(side) for side in (left, right)
    ):
        return "a comparison with NaN, which equals nothing: use math.isnan"
    kinds = [next((k for k in _KINDS if isinstance(each, k)), None) for each in (left, right)]
    if None in kinds or kinds[0] == kinds[1]:
        return ""
    names = f"{type(left).__name__} with {type(right).__name__}"
    return f"a comparison of {names}, which are never equal: compare values of one kind"
