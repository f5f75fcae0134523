"""Note the items that the test of a claim looks at, because some tests are true whatever the run
did.

``all(…)``, ``(…).all()``, ``not any(…)``, ``torch.equal(…)`` and ``found <= allowed`` are true if
there is no item; ``any([check])`` is true whatever the function `check` would return; ``before ==
after`` is true if both are one list. So these parts of a test are wrapped before the test runs.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from types import GeneratorType
from typing import Any, TypeVar

from tclab.site.snippets.tautology import (
    describe_always_true,
    describe_other_kind,
    describe_own_comparison,
    describe_own_truth,
    describe_same,
    is_mock,
)

Value = TypeVar("Value")

#: The name of the engine's `ClaimRegister` in the file's globals.
REGISTER = "__tclab_claim__"

#: Calls in a test that are true, or return their default, if there are no items.
_CALLS_ON_ITEMS = {"all": all, "not any": any, "min": min, "max": max}
#: Functions of libraries that compare two tensors or arrays.
_COMPARISON_FUNCTIONS = ("equal", "allclose", "array_equal")


class Tally:
    """A tally of the items that each part of one test looked at. Each part has a number,
    `part_number`, from 1 on.
    """

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._seen: Counter[int] = Counter()
        self._open: Counter[int] = Counter()  # the number of items that can be false
        self._last: dict[int, str] = {}  # the reason why the last item is always true, or ''
        self._sides: defaultdict[int, list[object]] = defaultdict(
            list
        )  # the sides of the current comparison
        self._vacuous: dict[int, str] = {}  # why a comparison was true each time, or ''
        self._mocks: set[str] = set()
        self._own = ""  # the first operand whose comparison a class of the snippet decides

    def count_items(
        self, part_number: int, name: str, function: object, items: Iterable[Value]
    ) -> Iterable[Value]:
        """Count the items of a call, unless its function is not the builtin of this name."""
        known = {**_CALLS_ON_ITEMS, "any": any}
        return self._count(part_number, name, items) if function is known[name] else items

    def _count(self, part_number: int, name: str, items: Iterable[Value]) -> Iterator[Value]:
        self._names[part_number] = name
        # a tuple that an expression computes can also be empty, so it can be false
        computed = isinstance(items, GeneratorType)
        for item in items:
            may_be_empty = computed and isinstance(item, tuple)
            self._last[part_number] = why = "" if may_be_empty else describe_always_true(item)
            self._seen[part_number] += 1
            self._open[part_number] += not why
            yield item

    def count_set(self, part_number: int, smaller_set: Value) -> Value:
        """Count the items of a set that is compared with a larger set. Return the smaller set."""
        if isinstance(smaller_set, (Set, list, tuple)):
            self._names[part_number] = "<="
            self._seen[part_number] += len(smaller_set)
            self._open[part_number] += len(smaller_set)
        return smaller_set

    def count_elements(self, part_number: int, name: str, value: Value) -> Value:
        """Count the elements of a tensor or an array, and return the value. Any other value counts
        as one element.
        """
        number = 1
        with suppress(Exception):  # a fake tensor may not know its size
            sized: Any = value
            number = int(sized.numel() if hasattr(value, "numel") else sized.size)
        self._names[part_number] = name
        self._seen[part_number] += number
        self._open[part_number] += number
        return value

    def note_side(self, part_number: int, equal: bool, value: Value) -> Value:
        """Note the value of a side of a ``==``, or of a ``!=`` if `equal` is false. Return the
        value.
        """
        if is_mock(value):
            self._mocks.add(type(value).__name__)
        sides = self._sides[part_number]
        sides.append(value)
        if len(sides) == 2:
            why = describe_same(*sides) if equal else describe_other_kind(*sides)
            self._vacuous[part_number] = why if self._vacuous.get(part_number, why) else ""
            sides.clear()
        return value

    def note_operand(self, truth: bool, value: Value) -> Value:
        """Note an operand of a comparison, or an argument of a call; return the value. With
        `truth`, the value is the operand of ``not`` or the argument of ``bool``.
        """
        describe = describe_own_truth if truth else describe_own_comparison
        self._own = self._own or describe(value)
        return value

    def describe_comparison(self) -> str:
        """Return why a comparison says nothing about the run, with the next step; '' if each
        comparison says something.
        """
        if self._mocks:
            return f"a comparison with a {min(self._mocks)}, which the file itself made up"
        return self._own or next(filter(None, self._vacuous.values()), "")

    def describe_nothing(self) -> str:
        """Return which part of the test had no items, and the next step; '' if each part had
        items.
        """
        empty = [name for part_number, name in self._names.items() if not self._seen[part_number]]
        what = next((name for name in empty if name != "any"), "")
        if not what:
            return ""
        part = "the set before <= is empty" if what == "<=" else f"{what}() had nothing to look at"
        return f"{part}; assert that there is something, too"

    def describe_item(self) -> str:
        """Describe the item that an ``any`` found, or the only item of an ``all``, if it cannot be
        false.
        """
        for part_number, name in self._names.items():
            decided = not self._open[part_number] if name == "all" else name == "any"
            if decided and (why := self._last.get(part_number)):
                return why
        return ""


class QuantifierCounter(ast.NodeTransformer):
    """A transformer that wraps the arguments of each ``all``, ``any``, ``min`` and ``max`` in a
    test, and the smaller set of each ``<=``, so that their items are counted.
    """

    places = 0

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """Leave a lambda as it is, because the test may compile it."""
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.UnaryOp:
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name("any")) as call):
                self.generic_visit(call)
                self._wrap_items(call, "not any")
            case _:
                self.generic_visit(node)
                if isinstance(node.op, ast.Not):
                    node.operand = _wrap_operand(node.operand, truth=True)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name("all" | "any" as name), keywords=[]):
                self._wrap_items(node, name)
            case ast.Call(func=ast.Attribute(attr="issubset") as method):
                method.value = self._wrap_set(method.value)
            case ast.Call(func=ast.Attribute(attr="issuperset"), args=[small]):
                node.args = [self._wrap_set(small)]
            case ast.Call(func=ast.Attribute(attr="all") as method, args=[]):
                method.value = self._wrap_elements(method.value, "all")
            case ast.Call(func=ast.Attribute(attr="all"), args=[items, *_]):
                node.args[0] = self._wrap_elements(items, "all")
            case ast.Call(func=ast.Attribute(attr=name), args=[left, _, *_]):
                if name in _COMPARISON_FUNCTIONS:
                    node.args[0] = self._wrap_elements(left, name)
            case ast.Call(func=ast.Name("min" | "max" as name)):
                if "default" in {keyword.arg for keyword in node.keywords}:
                    self._wrap_items(node, name)
        truth = ast.unparse(node.func) == "bool"
        node.args = [_wrap_operand(argument, truth=truth) for argument in node.args]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        match node:
            case ast.Compare(
                left=ast.Call(func=ast.Name("any")) as call, comparators=[ast.Constant(value=False)]
            ):
                self.generic_visit(call)
                self._wrap_items(call, "not any")
                return node
        self.generic_visit(node)
        match node:
            case ast.Compare(left=small, ops=[ast.LtE()]):
                node.left = self._wrap_set(small)
            case ast.Compare(ops=[ast.GtE()], comparators=[small]):
                node.comparators = [self._wrap_set(small)]
        node.left, *node.comparators = map(_wrap_operand, (node.left, *node.comparators))
        return node

    def wrap_comparisons(self, test: ast.expr) -> None:
        """Wrap the sides of each comparison that can make the test true by itself. A comparison in
        another place, such as the condition of a list comprehension, may be the same each time.
        """
        match test:
            case ast.BoolOp(values=values):
                for value in values:
                    self.wrap_comparisons(value)
            case ast.Call(
                func=ast.Name("all" | "any"), args=[ast.GeneratorExp(elt) | ast.ListComp(elt)]
            ):
                self.wrap_comparisons(elt)
            case ast.Call(func=ast.Attribute(attr=name), args=[left, right, *_]):
                if name in _COMPARISON_FUNCTIONS:
                    test.args[:2] = self._wrap_sides([left, right], equal=True)
            case ast.Compare(left=ast.Call(func=ast.Name("any"))):
                pass  # `visit_Compare` counts the items that the comparison looks at
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]):
                equal = isinstance(op, ast.Eq)
                test.left, *test.comparators = self._wrap_sides([left, right], equal=equal)

    def _wrap_items(self, call: ast.Call, name: str) -> None:
        match call:
            case ast.Call(func=ast.Name() as function, args=[ast.expr() as items]):
                if not isinstance(items, ast.Starred):
                    used = ast.Name(function.id, ast.Load())
                    call.args = [
                        register_call(
                            "count_items",
                            items,
                            self._number_part(),
                            ast.Constant(name),
                            used,
                            items,
                        )
                    ]

    def _wrap_elements(self, value: ast.expr, name: str) -> ast.expr:
        return register_call(
            "count_elements", value, self._number_part(), ast.Constant(name), value
        )

    def _wrap_sides(self, sides: list[ast.expr], *, equal: bool) -> list[ast.expr]:
        place = self._number_part()
        return [
            register_call("note_side", side, place, ast.Constant(equal), side) for side in sides
        ]

    def _wrap_set(self, small: ast.expr) -> ast.expr:
        return register_call("count_set", small, self._number_part(), small)

    def _number_part(self) -> ast.Constant:
        self.places += 1
        return ast.Constant(self.places)


def _wrap_operand(operand: ast.expr, *, truth: bool = False) -> ast.expr:
    if isinstance(operand, ast.Starred):
        return operand
    return register_call("note_operand", operand, ast.Constant(truth), operand)


def register_call(method: str, at: ast.expr, *arguments: ast.expr) -> ast.Call:
    """Return a call of a method of the register, with the source location of `at`."""
    function = ast.Attribute(ast.Name(REGISTER, ast.Load()), method, ast.Load())
    call = ast.copy_location(ast.Call(function, list(arguments), []), at)
    for new in (function, function.value, *arguments):
        if not hasattr(new, "lineno"):
            ast.copy_location(new, at)
    return call
