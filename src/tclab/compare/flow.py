"""Build the data flow of a Triton kernel's body, independent of names and of the order of lines.

Each value becomes a node, which has an operation and operand nodes. Nodes are referred to by
number. Rules rewrite operations as nodes are made, so that two forms of the same computation become
the same node.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import NamedTuple


class Operation(NamedTuple):
    """The operation of a node. `words` are the names of its keyword operands, or the parts of an
    operator other than its operands. `value` is the value of a constant.
    """

    name: str
    words: tuple[str, ...] = ()
    value: object = None

    def __str__(self) -> str:
        return " ".join([self.name, *self.words])


#: A function that returns the node to replace an operation with operands; None if the rule does not
#: apply.
Rule = Callable[["Flow", Operation, tuple[int, ...]], "int | None"]
#: The effect of a statement: the name of the effect, and its operand nodes.
Effect = tuple[str, tuple[int, ...]]

LOAD, STORE, NOTHING = "tl.load", "tl.store", "nothing"
_COMMUTATIVE = ("Add", "Mult")


class Flow:
    """The data flow of one body under some rules; `fired` counts the uses of each rule.

    Two bodies with equal `canonical_lines` compute the same.
    """

    def __init__(self, body: str, rules: Iterable[tuple[str, Rule]] = ()) -> None:
        self.rules = tuple(rules)
        self.fired: Counter[str] = Counter()
        self.nodes: list[tuple[Operation, tuple[int, ...]]] = []
        self._ids: dict[tuple[Operation, tuple[int, ...]], int] = {}
        self._digests: dict[int, str] = {}
        self._values: dict[str, int] = {}
        self._writes: Counter[str] = Counter()
        (function,) = ast.parse(body).body
        assert isinstance(function, ast.FunctionDef)
        self._reassigned = {
            name for name, times in _count_assignments(function).items() if times > 1
        }
        effects = chain.from_iterable(map(self._read_statement, function.body))
        self.canonical_lines = tuple(self._canonical_lines(list(effects)))

    def make(self, operation: Operation, *operands: int) -> int:
        """Return the node of an operation, after applying the rules."""
        for name, rule in self.rules:
            if (other := rule(self, operation, operands)) is not None:
                self.fired[name] += 1
                return other
        if operation.name == "Sub":  # a - b is exactly a + (-b)
            negative = self.make(Operation("USub"), operands[1])
            return self.make(Operation("Add"), operands[0], negative)
        return self.make_exactly(operation, *operands)

    def make_exactly(self, operation: Operation, *operands: int) -> int:
        """Return the node of an operation without applying the rules."""
        key = operation, operands
        if key not in self._ids:
            self._ids[key] = len(self.nodes)
            self.nodes.append(key)
        return self._ids[key]

    def digest(self, node: int) -> str:
        """Return a digest of a node's computation that ignores the pointers' names."""
        if node not in self._digests:
            operation, operands = self.nodes[node]
            below = list(map(self.digest, operands))
            below = sorted(below) if operation.name in _COMMUTATIVE else below
            own = "pointer" if is_pointer(operation) else str(operation)
            text = " ".join([own, *below])
            self._digests[node] = hashlib.sha256(text.encode()).hexdigest()
        return self._digests[node]

    # ------------------------------------------------------------------------- reading

    def _read_statement(self, statement: ast.stmt) -> Iterator[Effect]:
        if isinstance(statement, ast.Assign):
            yield from self._read_assignment(statement.targets[0], self._read(statement.value))
        elif isinstance(statement, ast.AnnAssign) and statement.value:  # R0_BLOCK: tl.constexpr = 8
            yield from self._read_assignment(statement.target, self._read(statement.value))
        elif isinstance(statement, ast.AugAssign):  # acc += tl.dot(a, b, allow_tf32=ALLOW_TF32)
            before = ast.copy_location(ast.Name(ast.unparse(statement.target)), statement)
            value = self._read(ast.BinOp(before, statement.op, statement.value))
            yield from self._read_assignment(statement.target, value)
        elif isinstance(statement, ast.For):
            yield f"for {ast.unparse(statement.target)}", (self._read(statement.iter),)
            yield from chain.from_iterable(map(self._read_statement, statement.body))
            yield "end", ()
        elif isinstance(statement, ast.Expr):
            node = self._read(statement.value)
            if self.nodes[node][0].name != NOTHING:
                yield "do", (node,)
        else:  # its text, and what its names are
            names = [each for each in ast.walk(statement) if isinstance(each, ast.Name)]
            read = [each for each in names if isinstance(each.ctx, ast.Load)]
            yield ast.unparse(statement), tuple(map(self._read, read))

    def _read_assignment(self, target: ast.expr, value: int) -> Iterator[Effect]:
        if isinstance(target, ast.Tuple):
            for place, each in enumerate(target.elts):
                yield from self._read_assignment(
                    each, self.make_exactly(Operation("item", (str(place),)), value)
                )
            return
        name = ast.unparse(target)
        if name not in self._reassigned:
            self._values[name] = value
            return
        self._writes[name] += 1
        yield f"set {name}", (value,)

    def _read(self, node: ast.expr) -> int:
        if isinstance(node, ast.Name):
            if node.id in self._reassigned:
                return self.make_exactly(Operation(node.id, ("after", str(self._writes[node.id]))))
            known = self._values.get(node.id)
            return self.make_exactly(Operation(node.id)) if known is None else known
        if isinstance(node, ast.BinOp):
            operator = Operation(type(node.op).__name__)
            return self.make(operator, self._read(node.left), self._read(node.right))
        if isinstance(node, ast.Call):
            return self._read_call(node)
        if isinstance(node, ast.Attribute) and self._is_module_name(node):
            return self.make_exactly(Operation(ast.unparse(node)))
        return self._read_operator(node)

    def _read_call(self, node: ast.Call) -> int:
        words = [word.arg or "**" for word in node.keywords]
        values = [
            self._read(each) for each in (*node.args, *(word.value for word in node.keywords))
        ]
        function = node.func
        if isinstance(function, ast.Attribute) and not self._is_module_name(function):
            name, values = f".{function.attr}", [self._read(function.value), *values]
        else:
            name = ast.unparse(function)
        return self.make(Operation(name, tuple(words)), *values)

    def _read_operator(self, node: ast.expr) -> int:
        """Return the node of an operator: its class, its operands and its other fields."""
        below = list(ast.iter_child_nodes(node))
        operands = [each for each in below if isinstance(each, ast.expr)]
        own = [type(each).__name__ for each in below if not isinstance(each, (ast.expr, ast.Load))]
        others = [
            str(value) for _, value in ast.iter_fields(node) if isinstance(value, _CONSTANT_TYPES)
        ]
        name, *words = own if isinstance(node, ast.UnaryOp) else [type(node).__name__, *own]
        value = node.value if isinstance(node, ast.Constant) else None
        operation = Operation(name, (*words, *others), value)
        return self.make(operation, *map(self._read, operands))

    def _is_module_name(self, node: ast.Attribute) -> bool:
        """Return whether an attribute is a name of a module, such as ``tl.float32``."""
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            inner = inner.value
        return isinstance(inner, ast.Name) and inner.id in ("tl", "libdevice", "triton_helpers")

    # ------------------------------------------------------------------------- writing

    def _canonical_lines(self, effects: Sequence[Effect]) -> Iterator[str]:
        """Yield each effect, preceded by its operands. Nodes are numbered in the order in which
        they occur.
        """
        numbers: dict[int, str] = {}
        pointers: dict[str, str] = {}
        for name, nodes in self._sort_stores(effects):
            for node in nodes:
                yield from self._write_node(node, numbers, pointers)
            yield " ".join([name, *(numbers[node] for node in nodes)])

    def _sort_stores(self, effects: Sequence[Effect]) -> Iterator[Effect]:
        """Yield the effects, with each run of consecutive stores sorted by the stored values."""
        for stores, group in groupby(effects, key=self._is_store):
            run = list(group)
            yield from sorted(run, key=lambda each: self.digest(each[1][0])) if stores else run

    def _is_store(self, effect: Effect) -> bool:
        name, nodes = effect
        return name == "do" and self.nodes[nodes[0]][0].name.startswith(STORE)

    def _write_node(
        self, node: int, numbers: dict[int, str], pointers: dict[str, str]
    ) -> Iterator[str]:
        if node in numbers:
            return
        operation, operands = self.nodes[node]
        if is_pointer(operation):
            numbers[node] = pointers.setdefault(operation.name, f"pointer {len(pointers)}")
            return
        if operation.name in _COMMUTATIVE:
            operands = tuple(sorted(operands, key=self.digest))
        for operand in operands:
            yield from self._write_node(operand, numbers, pointers)
        numbers[node] = f"%{len(numbers)}"
        below = (numbers[operand] for operand in operands)
        yield " ".join([f"{numbers[node]} = {operation}", *below])


def is_pointer(operation: Operation) -> bool:
    """Return whether a node is a buffer, which `normalize_triton` names ``ptr_0``."""
    return operation.name.startswith("ptr_")


_CONSTANT_TYPES = (str, int, float, bool, type(None), bytes)


def _count_assignments(function: ast.FunctionDef) -> Counter[str]:
    """Count how often each name is assigned."""
    return Counter(
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
