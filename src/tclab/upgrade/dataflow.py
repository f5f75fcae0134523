"""A Triton kernel's body as what flows where: the same for bodies that name or order it otherwise.

Values become numbers of nodes, each the operation and the nodes it takes. Rules may make one
operation of another while that is built, so that two forms of one thing become the same node.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby

#: Makes another node of an operation and its operands; None where the rule says nothing of it.
Rule = Callable[["Flow", str, tuple[int, ...]], "int | None"]
#: What a statement does, by name, and the nodes it does it with.
Effect = tuple[str, tuple[int, ...]]

LOAD, STORE, NOTHING = "tl.load", "tl.store", "nothing"
_COMMUTE = ("Add", "Mult")


class Flow:
    """One body under some rules. `fired` counts how often each of them said something."""

    def __init__(self, body: str, rules: Iterable[tuple[str, Rule]] = ()) -> None:
        self.rules = tuple(rules)
        self.fired: Counter[str] = Counter()
        self.nodes: list[tuple[str, tuple[int, ...]]] = []
        self._ids: dict[tuple[str, tuple[int, ...]], int] = {}
        self._digests: dict[int, str] = {}
        self._values: dict[str, int] = {}
        self._writes: Counter[str] = Counter()
        (function,) = ast.parse(body).body
        assert isinstance(function, ast.FunctionDef)
        self._often = {name for name, times in _assigned(function).items() if times > 1}
        effects = chain.from_iterable(map(self._statement, function.body))
        self.form = tuple(self._lines(list(effects)))

    def make(self, operation: str, *operands: int) -> int:
        """The node of an operation, after the rules."""
        for name, rule in self.rules:
            if (other := rule(self, operation, operands)) is not None:
                self.fired[name] += 1
                return other
        if operation == "Sub":  # exactly the sum with the negative
            return self.make("Add", operands[0], self.make("USub", operands[1]))
        return self.plain(operation, *operands)

    def plain(self, operation: str, *operands: int) -> int:
        """The node of an operation as it stands."""
        key = operation, operands
        if key not in self._ids:
            self._ids[key] = len(self.nodes)
            self.nodes.append(key)
        return self._ids[key]

    def digest(self, node: int) -> str:
        """Of what a node computes, whatever its pointers are called."""
        if node not in self._digests:
            operation, operands = self.nodes[node]
            below = list(map(self.digest, operands))
            below = sorted(below) if operation in _COMMUTE else below
            text = " ".join(["pointer" if operation.startswith("ptr_") else operation, *below])
            self._digests[node] = hashlib.sha256(text.encode()).hexdigest()
        return self._digests[node]

    # ------------------------------------------------------------------------- reading

    def _statement(self, statement: ast.stmt) -> Iterator[Effect]:
        if isinstance(statement, ast.Assign):
            yield from self._assign(statement.targets[0], self._read(statement.value))
        elif isinstance(statement, ast.For):
            yield f"for {ast.unparse(statement.target)}", (self._read(statement.iter),)
            yield from chain.from_iterable(map(self._statement, statement.body))
            yield "end", ()
        elif isinstance(statement, ast.Expr):
            node = self._read(statement.value)
            if self.nodes[node][0] != NOTHING:
                yield "do", (node,)
        else:
            yield ast.unparse(statement), ()

    def _assign(self, target: ast.expr, value: int) -> Iterator[Effect]:
        if isinstance(target, ast.Tuple):
            for place, each in enumerate(target.elts):
                yield from self._assign(each, self.plain(f"item {place}", value))
            return
        name = ast.unparse(target)
        if name not in self._often:
            self._values[name] = value
            return
        self._writes[name] += 1
        yield f"set {name}", (value,)

    def _read(self, node: ast.expr) -> int:
        if isinstance(node, ast.Name):
            if node.id in self._often:
                return self.plain(f"{node.id} after {self._writes[node.id]}")
            return self._values[node.id] if node.id in self._values else self.plain(node.id)
        if isinstance(node, ast.BinOp):
            return self.make(type(node.op).__name__, self._read(node.left), self._read(node.right))
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute) and self._is_module(node):
            return self.plain(ast.unparse(node))
        return self._other(node)

    def _call(self, node: ast.Call) -> int:
        words = [word.arg or "**" for word in node.keywords]
        values = [
            self._read(each) for each in (*node.args, *(word.value for word in node.keywords))
        ]
        function = node.func
        if isinstance(function, ast.Attribute) and not self._is_module(function):
            name, values = f".{function.attr}", [self._read(function.value), *values]
        else:
            name = ast.unparse(function)
        return self.make(" ".join([name, *words]), *values)

    def _other(self, node: ast.expr) -> int:
        """An operator, by its class and what is no operand of it."""
        below = list(ast.iter_child_nodes(node))
        operands = [each for each in below if isinstance(each, ast.expr)]
        own = [type(each).__name__ for each in below if not isinstance(each, (ast.expr, ast.Load))]
        said = [str(value) for _, value in ast.iter_fields(node) if isinstance(value, _PLAIN)]
        name = own[0] if isinstance(node, ast.UnaryOp) else " ".join([type(node).__name__, *own])
        return self.make(" ".join([name, *said]), *map(self._read, operands))

    def _is_module(self, node: ast.Attribute) -> bool:
        """Whether it is a name of a module, such as ``tl.float32``, and not of a value."""
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            inner = inner.value
        return isinstance(inner, ast.Name) and inner.id in ("tl", "libdevice", "triton_helpers")

    # ------------------------------------------------------------------------- writing

    def _lines(self, effects: Sequence[Effect]) -> Iterator[str]:
        """Every effect in order, and before it what it takes, numbered as it comes."""
        numbers: dict[int, str] = {}
        pointers: dict[str, str] = {}
        for name, nodes in self._ordered(effects):
            for node in nodes:
                yield from self._write(node, numbers, pointers)
            yield " ".join([name, *(numbers[node] for node in nodes)])

    def _ordered(self, effects: Sequence[Effect]) -> Iterator[Effect]:
        """Stores that follow each other, by what they store."""
        for stores, group in groupby(effects, key=self._is_store):
            run = list(group)
            yield from sorted(run, key=lambda each: self.digest(each[1][0])) if stores else run

    def _is_store(self, effect: Effect) -> bool:
        name, nodes = effect
        return name == "do" and self.nodes[nodes[0]][0].startswith(STORE)

    def _write(self, node: int, numbers: dict[int, str], pointers: dict[str, str]) -> Iterator[str]:
        if node in numbers:
            return
        operation, operands = self.nodes[node]
        if operation.startswith("ptr_"):
            numbers[node] = pointers.setdefault(operation, f"pointer {len(pointers)}")
            return
        if operation in _COMMUTE:
            operands = tuple(sorted(operands, key=self.digest))
        for operand in operands:
            yield from self._write(operand, numbers, pointers)
        numbers[node] = f"%{len(numbers)}"
        below = (numbers[operand] for operand in operands)
        yield f"{numbers[node]} = {' '.join([operation, *below])}"


_PLAIN = (str, int, float, bool, type(None), bytes)


def _assigned(function: ast.FunctionDef) -> Counter[str]:
    """How often each name gets a value."""
    return Counter(
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
