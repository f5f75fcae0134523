"""Read a graph, its inputs and its settings from the text of ``fx_graph_runnable``.

PyTorch means this text to be run. Here it is only parsed: each statement must be one that PyTorch
prints there, and what it says is returned as values. `graph_text` may be another printout of the
same graph that has the graphs inside of it, which the runnable prints as ``<lambda>()`` or
``GraphModule()``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tclab.capturing.read.output_code import dotted_name
from tclab.capturing.runnable.head import (
    Argument,
    Storage,
    check_statement,
    read_arguments,
    read_attributes,
    read_groups,
    read_hints,
    read_settings,
)
from tclab.capturing.runnable.user_kernels import UserKernels, read_user_kernels
from tclab.capturing.runnable.values import (
    OPERATORS,
    Value,
    read_value,
    refuse,
    shown,
)

#: The most lines and characters of a text. Inductor's largest graphs have a tenth of it.
_MOST_LINES, _MOST_CHARACTERS = 200_000, 50_000_000
#         self.sdpa_score0 = <lambda>()
#         self.fw_graph0 = GraphModule()
_INNER = re.compile(r"^( +self\.\w+ = )(?:<lambda>|GraphModule)\(\)(?= *$)", re.MULTILINE)
#: The symbol of an operator in Python → the function of the module operator that a node calls.
_BINARY: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
    ast.LShift: "lshift", ast.RShift: "rshift",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
    ast.USub: "neg", ast.Invert: "invert", ast.UAdd: "pos",
}  # fmt: skip
#: Functions of PyTorch and of Python that nodes with a size call.
_FUNCTIONS = frozenset({
    *("torch.sym_max", "torch.sym_min", "torch.sym_not", "torch.sym_float", "torch.sym_int"),
    *("torch.sym_ite", "torch.sym_sum", "torch._sym_sqrt", "math.trunc", "math.ceil"),
    *("math.floor", "round"),
})  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A node. `target` is an operator (``torch.ops.aten.add.Tensor``), a function of the module
    operator (``operator.add``), or an attribute of the graph (``self.x``), which has no arguments.
    """

    name: str
    target: str
    args: tuple[Value, ...] = ()
    kwargs: tuple[tuple[str, Value], ...] = ()
    line: int = 0


@dataclass(frozen=True)
class PrintedGraph:
    """A printed graph, with the graphs inside of it by name. `types` are the inputs' annotations,
    such as ``f32[8, 4][4, 1]cpu``; a runnable has none.
    """

    inputs: tuple[str, ...]
    calls: tuple[Call, ...]
    output: Value
    inner: dict[str, PrintedGraph] = field(default_factory=dict)
    types: tuple[str, ...] = ()

    def launches(self) -> Iterator[tuple[int, int]]:
        """Yield the number of each Triton kernel of the user's that the graph or one inside calls,
        and the number of its arguments.
        """
        for call in self.calls:
            named = dict(call.kwargs)
            number, arguments = named.get("kernel_idx"), named.get("constant_args_idx")
            if isinstance(number, int) and isinstance(arguments, int):
                yield number, arguments
        for inner in self.inner.values():
            yield from inner.launches()


@dataclass(frozen=True)
class Runnable:
    """What a runnable says. `hints` are the values of the symbols, `settings` the full names of
    settings and their values, `storages` the storages of the inputs by name, `constants` the
    tensors that the graph holds, as printed, and `groups` the size and the rank of each process
    group. `kernels` are the user's Triton kernels.
    """

    graph: PrintedGraph
    arguments: tuple[Argument, ...]
    storages: dict[str, Storage]
    hints: dict[str, int]
    settings: dict[str, Value]
    constants: dict[str, ast.expr]
    groups: dict[str, dict[str, int]]
    kernels: UserKernels = field(default_factory=UserKernels)


def read_runnable(text: str, graph_text: str = "") -> Runnable:
    """Return what a runnable says. Raises Refused for a text that has anything that PyTorch does
    not print there.
    """
    try:
        return _read(text, graph_text)
    except RecursionError as error:
        raise refuse("the text", ast.Constant(None), "it is nested too deep") from error


def _read(text: str, graph_text: str) -> Runnable:
    module = _parse(_INNER.sub(r"\1None", text))
    hints, settings = dict(read_hints(module)), dict(read_settings(module))
    classes = [each for each in module.body if isinstance(each, ast.ClassDef)]
    plain = (each for each in module.body if isinstance(each, ast.FunctionDef))
    functions = {each.name: each for each in plain if not each.decorator_list}
    if [each.name for each in classes] != ["Repro"] or [*functions] != ["load_args"]:
        names = ", ".join([*(each.name for each in classes), *functions]) or "nothing"
        raise refuse(names, module, "a runnable defines Repro and load_args alone")
    for statement in module.body:
        check_statement(statement)
    storages: dict[str, Storage] = {}
    arguments = tuple(read_arguments(functions["load_args"], storages))
    constants = dict(read_attributes(classes[0]))
    whole = _INNER.search(text) and graph_text
    graph = _read_class(_printed_class(graph_text) if whole else classes[0])
    groups = dict(read_groups(module))
    kernels = read_user_kernels(module, text)
    return Runnable(graph, arguments, storages, hints, settings, constants, groups, kernels)


def _parse(text: str) -> ast.Module:
    nothing = ast.Module([], [])
    if len(text) > _MOST_CHARACTERS or text.count("\n") > _MOST_LINES:
        raise refuse("the text", nothing, "it is longer than a graph of Inductor's")
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise refuse("the text", nothing, f"it is not Python (line {line})") from error


def _printed_class(text: str) -> ast.ClassDef:
    module = _parse(text.replace("class <lambda>(", "class GraphModule(", 1))
    if len(module.body) != 1 or not isinstance(module.body[0], ast.ClassDef):
        raise refuse("the text", module, "a printed graph is one class")
    return module.body[0]


# ------------------------------------------------------------------------------ the graph


def _read_class(printed: ast.ClassDef) -> PrintedGraph:
    inner: dict[str, PrintedGraph] = {}
    forward = None
    for each in printed.body:
        if isinstance(each, ast.ClassDef):
            inner[each.name] = _read_class(each)
        elif isinstance(each, ast.FunctionDef) and each.name == "forward":
            forward = each
        elif not (isinstance(each, ast.FunctionDef) and each.name == "__init__"):
            raise refuse(shown(each), each)
    if forward is None:
        raise refuse(printed.name, printed, "it has no forward")
    return _read_forward(forward, inner)


def _read_forward(forward: ast.FunctionDef, inner: dict[str, PrintedGraph]) -> PrintedGraph:
    arguments = forward.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        raise refuse(shown(arguments), forward)
    if forward.decorator_list or not forward.body:
        raise refuse("a decorator", forward)
    inputs = tuple(each.arg for each in arguments.args[1:])
    known, calls = set(inputs), []
    *body, last = forward.body
    for statement in body:
        for call in _read_statement(statement, known):
            if call.name in known:
                raise refuse(call.name, statement, "two nodes have this name")
            known.add(call.name)
            calls.append(call)
    if not isinstance(last, ast.Return) or last.value is None:
        raise refuse(shown(last), last, "a graph ends with what it returns")
    types = tuple(_annotation(each.annotation) for each in arguments.args[1:])
    return PrintedGraph(inputs, tuple(calls), read_value(last.value, known), inner, types)


def _annotation(node: ast.expr | None) -> str:
    match node:
        case ast.Constant(str(text)):
            return text
    return ""


def _read_statement(statement: ast.stmt, known: set[str]) -> Iterator[Call]:
    """Yield the node of a statement; none for ``x = y = None``, which frees values."""
    match statement:
        case ast.Assign(targets, ast.Constant(None)) if all(
            isinstance(each, ast.Name) for each in targets
        ):
            return
        case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(
            ast.Name(name), _, ast.expr() as value
        ):
            yield _read_node(name, value, known)
        case _:
            raise refuse(shown(statement), statement)


def _read_node(name: str, value: ast.expr, known: set[str]) -> Call:
    def call(target: str, args: Sequence[ast.expr], keywords: Sequence[ast.keyword] = ()) -> Call:
        values = tuple(read_value(each, known) for each in args)
        if any(each.arg is None for each in keywords):
            raise refuse(shown(value), value)
        kwargs = tuple((str(each.arg), read_value(each.value, known)) for each in keywords)
        return Call(name, target, values, kwargs, value.lineno)

    match value:
        case ast.Call(function, args, keywords):
            target = dotted_name(function)
            if target.startswith(OPERATORS) or target in _FUNCTIONS:
                return call(target, args, keywords)
            raise refuse(shown(function), value, "no operator of PyTorch's")
        case ast.Subscript(of, ast.Constant(int() | str())) as item:
            return call("operator.getitem", [of, item.slice])
        case ast.Subscript(of, ast.UnaryOp(ast.USub(), ast.Constant(int()))) as item:
            return call("operator.getitem", [of, item.slice])
        case ast.BinOp(left, op, right) if type(op) in _BINARY:
            return call(f"operator.{_BINARY[type(op)]}", [left, right])
        case ast.Compare(left, [op], [right]) if type(op) in _BINARY:
            return call(f"operator.{_BINARY[type(op)]}", [left, right])
        case ast.UnaryOp(op, operand) if type(op) in _BINARY:
            return call(f"operator.{_BINARY[type(op)]}", [operand])
        case ast.Attribute(ast.Name("self"), attribute) if not attribute.startswith("__"):
            return Call(name, f"self.{attribute}", line=value.lineno)
    raise refuse(shown(value), value)
