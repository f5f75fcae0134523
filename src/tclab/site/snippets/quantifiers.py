"""Count what the test of a claim looks at, because a statement about no items proves nothing.

``all(…)``, ``not any(…)`` and ``found <= allowed`` are true if there is no item; ``any([check])``
is true whatever the function `check` would return. So these parts of a test are wrapped before the
test runs.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from types import GeneratorType
from typing import TypeVar

from tclab.site.snippets.tautology import describe_always_true

Value = TypeVar("Value")

#: The name of the engine's `ClaimRegister` in the file's globals.
REGISTER = "__tclab_claim__"

#: Calls in a test that are true, or return their default, if there are no items.
_OF_NOTHING = {"all": all, "not any": any, "min": min, "max": max}


class Tally:
    """The items that each part of one test looked at, by its place in the test."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._seen: Counter[int] = Counter()
        self._open: Counter[int] = Counter()  # the number of items that can be false
        self._last: dict[int, str] = {}  # the reason why the last item is always true, or ''

    def count_items(
        self, place: int, name: str, function: object, items: Iterable[Value]
    ) -> Iterable[Value]:
        """Count the items of a call, unless its function is not the builtin of this name."""
        known = {**_OF_NOTHING, "any": any}
        return self._count(place, name, items) if function is known[name] else items

    def _count(self, place: int, name: str, items: Iterable[Value]) -> Iterator[Value]:
        self._names[place] = name
        # a tuple that an expression computes can also be empty, so it can be false
        computed = isinstance(items, GeneratorType)
        for item in items:
            may_be_empty = computed and isinstance(item, tuple)
            self._last[place] = why = "" if may_be_empty else describe_always_true(item)
            self._seen[place] += 1
            self._open[place] += not why
            yield item

    def count_set(self, place: int, smaller_set: Value) -> Value:
        """Count the items of a set that is compared with a larger one; return it."""
        if isinstance(smaller_set, Set):
            self._names[place] = "<="
            self._seen[place] += len(smaller_set)
            self._open[place] += len(smaller_set)
        return smaller_set

    def describe_nothing(self) -> str:
        """Return which part of the test had no items, and the next step; '' if each part had
        items.
        """
        empty = [name for place, name in self._names.items() if not self._seen[place]]
        what = next((name for name in empty if name != "any"), "")
        if not what:
            return ""
        part = "the set before <= is empty" if what == "<=" else f"{what}() had nothing to look at"
        return f"{part}; assert that there is something, too"

    def describe_item(self) -> str:
        """Describe the item that an ``any`` found, or the only item of an ``all``, if it cannot be
        false.
        """
        for place, name in self._names.items():
            decided = not self._open[place] if name == "all" else name == "any"
            if decided and (why := self._last.get(place)):
                return why
        return ""


class QuantifierCounter(ast.NodeTransformer):
    """Wraps the arguments of each ``all``, ``any``, ``min`` and ``max`` in a test, and the smaller
    set of each ``<=``, so that their items are counted.
    """

    places = 0

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.UnaryOp:
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name("any")) as call):
                self.generic_visit(call)
                self._wrap_items(call, "not any")
            case _:
                self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name("all" | "any" as name), keywords=[]):
                self._wrap_items(node, name)
            case ast.Call(func=ast.Attribute(attr="issubset") as method):
                method.value = self._wrap_set(method.value)
            case ast.Call(func=ast.Name("min" | "max" as name)):
                if "default" in {keyword.arg for keyword in node.keywords}:
                    self._wrap_items(node, name)
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
        return node

    def _wrap_items(self, call: ast.Call, name: str) -> None:
        match call:
            case ast.Call(func=ast.Name() as function, args=[ast.expr() as items]):
                if not isinstance(items, ast.Starred):
                    used = ast.Name(function.id, ast.Load())
                    call.args = [
                        register_call(
                            "count_items", items, self._place(), ast.Constant(name), used, items
                        )
                    ]

    def _wrap_set(self, small: ast.expr) -> ast.expr:
        return register_call("count_set", small, self._place(), small)

    def _place(self) -> ast.Constant:
        self.places += 1
        return ast.Constant(self.places)


def register_call(method: str, at: ast.expr, *arguments: ast.expr) -> ast.Call:
    """Return a call of a method of the register, with the source location of `at`."""
    function = ast.Attribute(ast.Name(REGISTER, ast.Load()), method, ast.Load())
    call = ast.copy_location(ast.Call(function, list(arguments), []), at)
    for new in (function, function.value, *arguments):
        if not hasattr(new, "lineno"):
            ast.copy_location(new, at)
    return call
