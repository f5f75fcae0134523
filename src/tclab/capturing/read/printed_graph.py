"""Parse the Python text that PyTorch prints for an FX graph into nodes.

The structured trace has graphs as text only, and the text has all that a Graph needs: it is Python,
each value is annotated with dtype, sizes and device, and comments name the user's line. So one
parser works for all stages, all versions of PyTorch, and ``with capture()``. The tests compare its
result with the nodes of real GraphModules.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from tclab.model import Node, SourceLine, source_lines
from tclab.text.scrub import scrub

#         # File: /reader/functions.py:34 in forward, code: x = x**power
_FILE = re.compile(r"File: (?P<file>.+?):(?P<line>\d+) in (?P<function>.+?), code: (?P<code>.*)")
_NO_FILE = "No stacktrace found"
# class <lambda>(torch.nn.Module):
_UNNAMED = re.compile(r"^class <(\w+)>\(", re.MULTILINE)
# f32[s77, 4][4, 1]cpu
_VALUE = re.compile(r"^(?P<dtype>[a-z]+\d+\w*)\[(?P<sizes>[^\]]*)\](?:\[[^\]]*\])?(?P<device>.*)$")

#: An operator in FX's text → the name of its function in the module `operator`.
_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift",
    ast.RShift: "rshift", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
}  # fmt: skip
_COMPARE = {ast.Lt: "lt", ast.Gt: "gt", ast.LtE: "le", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_UNARY = {ast.USub: "neg", ast.Invert: "invert", ast.UAdd: "pos"}


@dataclass(frozen=True)
class ParsedGraph:
    """The nodes of the outermost graph, and the line, from 1, on which each node is printed."""

    nodes: tuple[Node, ...]
    lines: dict[int, str]  # line number → node name
    sources: dict[int, SourceLine]  # line number → the user's line, also in nested graphs


def parse(code: str) -> ParsedGraph:
    """Parse a graph printed by ``print_readable``. Text that is not Python gives no nodes."""
    sources = dict(read_sources(code))
    try:
        forward = _find_forward(ast.parse(_UNNAMED.sub(r"class \1_(", code)))
    except SyntaxError:
        forward = None
    if forward is None:
        return ParsedGraph((), {}, sources)
    reader = _Reader(sources)
    reader.read(forward)
    return ParsedGraph(tuple(reader.nodes.values()), reader.lines, sources)


def _find_forward(tree: ast.Module) -> ast.FunctionDef | None:
    """Return `forward` of the first class, or the first function if there is no class."""
    for statement in tree.body:
        body = statement.body if isinstance(statement, ast.ClassDef) else [statement]
        for inner in body:
            if isinstance(inner, ast.FunctionDef):
                return inner
    return None


def read_sources(code: str) -> Iterator[tuple[int, SourceLine]]:
    """Yield each line number with the user's line. FX prints a comment when the user's line
    changes, so a comment applies to all lines up to the next comment.
    """
    current: SourceLine | None = None
    for number, line in enumerate(source_lines(code), 1):
        text = line.strip()
        if text.startswith("#"):
            if match := _FILE.search(text):
                current = _source_line(match)
            elif _NO_FILE in text:
                current = None
        elif text.startswith(("class ", "def ", "return")):
            current = None
        elif text and current is not None:
            yield number, current


def _source_line(match: re.Match[str]) -> SourceLine:
    code = scrub(match["code"].strip())
    return SourceLine(scrub(match["file"]), int(match["line"]), code, match["function"])


class _Reader:
    """Collects the nodes of one forward() from its statements."""

    def __init__(self, sources: dict[int, SourceLine]) -> None:
        self.sources = sources
        self.nodes: dict[str, Node] = {}
        self.lines: dict[int, str] = {}
        self.pending: dict[str, Node] = {}  # arguments not yet bound to a placeholder

    def read(self, forward: ast.FunctionDef) -> None:
        arguments = forward.args.posonlyargs + forward.args.args + forward.args.kwonlyargs
        for argument in arguments + [a for a in (forward.args.vararg,) if a]:
            if argument.arg != "self":
                self._read_argument(argument)
        for statement in forward.body:
            self._read_statement(statement)
        self._add_unbound_arguments()

    def _read_argument(self, argument: ast.arg) -> None:
        node = Node(argument.arg, "placeholder", argument.arg)
        self.pending[argument.arg] = _add_type(node, argument.annotation)
        self.lines[argument.lineno] = argument.arg

    def _read_statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            self._read_assignment(
                statement.target.id, statement, statement.value, statement.annotation
            )
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            self._read_assignment(statement.targets[0].id, statement, statement.value, None)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            self._read_in_place(statement)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            self._read_set_item(statement, statement.targets[0])
        elif isinstance(statement, ast.Assign):
            self._add_unbound_arguments()  # the joint graph unpacks its arguments at this statement
        elif isinstance(statement, ast.Return) and statement.value is not None:
            self._read_output(statement, statement.value)

    def _read_assignment(
        self, name: str, statement: ast.stmt, value: ast.expr | None, annotation: ast.expr | None
    ) -> None:
        if isinstance(value, ast.Constant) and value.value is None:
            return  # the statement `x = None`, with which FX frees a value
        if value is None:
            node = Node(name, "placeholder", name)
            self._store(_add_type(node, annotation), statement.lineno)
        elif isinstance(value, ast.Name) and value.id in self.pending:
            argument = self.pending.pop(value.id)
            self._store(replace(argument, name=name), statement.lineno)
        elif isinstance(value, ast.Name) and value.id in self.nodes:
            self._rename(value.id, name, annotation)
        else:
            self._add_node(name, statement, *self._split_value(value), annotation=annotation)

    def _read_in_place(self, statement: ast.AugAssign) -> None:
        """Add the node of `x += y`. FX prints `name = x` after it, which names the node."""
        target = "operator.i" + _BINARY[type(statement.op)].strip("_")
        assert isinstance(statement.target, ast.Name)
        operands = [statement.target, statement.value]
        self._add_node(
            f"{statement.target.id} in place", statement, "call_function", target, operands
        )

    def _read_set_item(self, statement: ast.Assign, target: ast.Subscript) -> None:
        """Add the node of `x[i] = y`. FX prints `name = x` after it, which names the node."""
        operands = [target.value, target.slice, statement.value]
        name = f"{_dotted_name(target.value)} in place"
        self._add_node(name, statement, "call_function", "operator.setitem", operands)

    def _rename(self, value: str, name: str, annotation: ast.expr | None) -> None:
        node = self.nodes.pop(f"{value} in place", None)
        if node is not None:
            self.nodes[name] = _add_type(replace(node, name=name), annotation)
            line = next(n for n, owner in self.lines.items() if owner == node.name)
            self.lines[line] = name

    def _split_value(self, value: ast.expr) -> tuple[str, str, list[ast.expr]]:
        """Return op, target and operands of a right-hand side."""
        if isinstance(value, ast.Call):
            return self._split_call(value)
        if isinstance(value, ast.BinOp):
            target = "operator." + _BINARY[type(value.op)]
            return "call_function", target, [value.left, value.right]
        if isinstance(value, ast.Compare):
            target = "operator." + _COMPARE.get(type(value.ops[0]), "contains")
            return "call_function", target, [value.left, *value.comparators]
        if isinstance(value, ast.UnaryOp):
            return "call_function", "operator." + _UNARY[type(value.op)], [value.operand]
        if isinstance(value, ast.Subscript):
            return "call_function", "operator.getitem", [value.value, value.slice]
        if isinstance(value, ast.Attribute) and _root_name(value) != "self":
            name = ast.Constant(value.attr)
            return "call_function", "builtins.getattr", [value.value, name]
        return "get_attr", _dotted_name(value).removeprefix("self."), []

    def _split_call(self, call: ast.Call) -> tuple[str, str, list[ast.expr]]:
        operands = [*call.args, *(k.value for k in call.keywords)]
        if _root_name(call.func) == "self":
            return "call_module", _dotted_name(call.func).removeprefix("self."), operands
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is not None and (
            _root_name(owner) in self.nodes or _root_name(owner) in self.pending
        ):
            assert isinstance(call.func, ast.Attribute)
            return "call_method", call.func.attr, [owner, *operands]
        return "call_function", _dotted_name(call.func), operands

    def _add_node(
        self,
        name: str,
        statement: ast.stmt,
        op: str,
        target: str,
        operands: list[ast.expr],
        annotation: ast.expr | None = None,
    ) -> None:
        keywords: list[ast.keyword] = []
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and isinstance(
            statement.value, ast.Call
        ):
            keywords = statement.value.keywords
            operands = operands[: len(operands) - len(keywords)]
        arguments = [_print(o) for o in operands] + [ast.unparse(k) for k in keywords]
        names = _names_read([*operands, *(k.value for k in keywords)])
        inputs = tuple(n for n in names if n in self.nodes or n in self.pending)
        node = Node(
            name,
            op,
            target,
            ", ".join(arguments),
            inputs,
            source=self.sources.get(statement.lineno),
        )
        self._store(_add_type(node, annotation), statement.lineno)

    def _read_output(self, statement: ast.Return, value: ast.expr) -> None:
        self._add_unbound_arguments()
        # the inputs include placeholders
        inputs = tuple(n for n in _names_read([value]) if n in self.nodes)
        name = next(name for name in _numbered_names("output") if name not in self.nodes)
        self._store(Node(name, "output", "output", ast.unparse(value), inputs), statement.lineno)

    def _store(self, node: Node, line: int) -> None:
        self.nodes[node.name] = node
        self.lines[line] = node.name

    def _add_unbound_arguments(self) -> None:
        """Add the arguments that no statement renamed, as placeholders before all other nodes."""
        unbound = {n: a for n, a in self.pending.items() if n not in ("primals", "tangents")}
        self.pending.clear()
        self.nodes = unbound | self.nodes


def _numbered_names(name: str) -> Iterator[str]:
    """Yield ``output``, ``output_1``, …, since FX numbers its output node if a variable is called
    ``output``.
    """
    yield name
    yield from (f"{name}_{number}" for number in count(1))


def _add_type(node: Node, annotation: ast.expr | None) -> Node:
    """Return the node with dtype, sizes and device from an annotation such as
    ``f32[8, s0][s0, 1]cpu``.
    """
    if not isinstance(annotation, ast.Constant) or not isinstance(annotation.value, str):
        return node
    match = _VALUE.match(annotation.value)
    if match is None:
        return replace(node, dtype=annotation.value) if "Sym" in annotation.value else node
    sizes = tuple(s.strip() for s in match["sizes"].split(",") if s.strip())
    return replace(node, shape=sizes, dtype=match["dtype"], device=match["device"])


def _names_read(values: list[ast.expr]) -> list[str]:
    """Return the names that these expressions read, in order, without duplicates."""
    names: dict[str, None] = {}
    for value in values:
        if isinstance(value, ast.Name):  # most operands are names or constants
            names[value.id] = None
        elif not isinstance(value, ast.Constant):
            names |= dict.fromkeys(n.id for n in ast.walk(value) if isinstance(n, ast.Name))
    return list(names)


def _root_name(value: ast.expr) -> str:
    while isinstance(value, (ast.Attribute, ast.Subscript)):
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""


def _dotted_name(value: ast.expr) -> str:
    names = []
    inner = value
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name):
        return ast.unparse(value)
    return ".".join([inner.id, *reversed(names)])


def _print(value: ast.expr) -> str:
    """Return an expression as text. Names and whole numbers, which most operands are, are printed
    here, since `ast.unparse` takes long.
    """
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, ast.Constant) and type(value.value) is int:
        return str(value.value)
    return ast.unparse(value)
