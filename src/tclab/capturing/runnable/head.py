"""Read what stands around the graph of a runnable: settings, symbols, inputs and tensors. Each
statement must be one that PyTorch prints.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tclab.capturing.read.output_code import dotted_name
from tclab.capturing.runnable.user_kernels import is_constant
from tclab.capturing.runnable.values import Mapping, Value, read_value, refuse, shown

# s33 = 4
_HINT = re.compile(r"[a-z]+\d+")
#: The settings that matter for Inductor; those of the tracing before it are not read.
_CONFIGS = ("torch._inductor.config.", "torch._functorch.config.")
_EARLIER = ("torch._dynamo.config.", "torch.fx.experimental._config.")
_CALLED = ("kernel_side_table.reset_table", "kernel_side_table.add_kernel")
#: The most processes of a group.
_MOST_RANKS = 1 << 17


@dataclass(frozen=True)
class Storage:
    """A storage of inputs: its length in bytes, as an expression, and its device, or None for the
    CPU.
    """

    length: ast.expr
    device: Value


@dataclass(frozen=True)
class Argument:
    """A call of the runnable's reader: an input of the kind tensor, symint, const, …"""

    kind: str
    args: tuple[ast.expr, ...]
    kwargs: dict[str, ast.expr]
    line: int


def read_hints(module: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield (symbol, value) of the lines ``s33 = 4`` at the top."""
    for statement in module.body:
        match statement:
            case ast.Assign([ast.Name(name)], ast.Constant(int(value))) if _HINT.fullmatch(name):
                yield name, value


def read_settings(module: ast.Module) -> Iterator[tuple[str, Value]]:
    for statement in module.body:
        if isinstance(statement, ast.Assign):
            name = dotted_name(statement.targets[0])
            if name.startswith(_CONFIGS):
                yield name, read_value(statement.value, ())


def read_groups(module: ast.Module) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield (name, size and rank) of each process group, which the part that is not read makes."""
    for node in (each for each in module.body if isinstance(each, ast.If)):
        for statement in node.body:
            match statement:
                case ast.Expr(ast.Call(ast.Name("setup_fake_process_groups"), [groups], [])):
                    yield from _read_groups(read_value(groups, ()), statement)


def _read_groups(value: Value, at: ast.stmt) -> Iterator[tuple[str, dict[str, int]]]:
    for name, group in value.pairs if isinstance(value, Mapping) else ((None, None),):
        known = dict(group.pairs) if isinstance(group, Mapping) else {}
        match name, known.get("size"), known.get("rank"):
            case str(group_name), int(size), int(rank) if 0 <= rank < size <= _MOST_RANKS:
                yield group_name, {"size": size, "rank": rank}
            case _:
                raise refuse(shown(at), at, "no process groups as PyTorch prints them")


def check_statement(statement: ast.stmt) -> None:
    """Raise Refused unless PyTorch prints this statement at the top level of a runnable. None of
    them is executed.
    """
    match statement:
        case ast.ClassDef() | ast.FunctionDef():
            return
        case ast.Import() | ast.ImportFrom():
            _check_import(statement)
            return
        case ast.Assign([target], value):
            name = dotted_name(target)
            known = name in ("isolate_fails_code_str", "mod", "load_args._version")
            if known or name.startswith((*_CONFIGS, *_EARLIER)) or _HINT.fullmatch(name):
                return
            if shown(target).startswith("os.environ[") and isinstance(value, ast.Constant):
                return
            if name.endswith("kernel_side_table.constant_args") or is_constant(value):
                return
        case ast.Expr(ast.Call(function, arguments)):
            name = dotted_name(function)
            if any(not isinstance(each, (ast.Name, ast.Constant)) for each in arguments):
                raise refuse(shown(statement), statement)
            if name.endswith((*_CALLED, "os.environ.pop")):
                return
        case ast.If(test):
            if shown(test) in ("'__compile_source__' in globals()", "__name__ == '__main__'"):
                return
    raise refuse(shown(statement), statement)


def _check_import(statement: ast.Import | ast.ImportFrom) -> None:
    """Raise Refused for an import that PyTorch does not print. No import is made."""
    module = getattr(statement, "module", None) or ""
    for alias in statement.names:
        name = f"{module}.{alias.name}" if module else alias.name
        top = name.partition(".")[0]
        if top not in ("torch", "os", "math") and name not in ("triton", "triton.language"):
            raise refuse(f"import of {name}", statement)


def read_arguments(function: ast.FunctionDef, storages: dict[str, Storage]) -> Iterator[Argument]:
    """Yield the inputs that ``load_args`` makes, and note the devices of the storages."""
    for statement in function.body:
        match statement:
            case ast.Assign([ast.Name(name)], ast.Call(called, [_, length], keywords)) if (
                dotted_name(called) == "reader.storage"
            ):
                named = {each.arg: each.value for each in keywords}
                device = named.get("device")
                storages[name] = Storage(length, read_value(device, ()) if device else None)
            case ast.Expr(ast.Call(called, args, keywords)) if dotted_name(called).startswith(
                "reader."
            ):
                kwargs = {str(each.arg): each.value for each in keywords}
                kind = dotted_name(called).removeprefix("reader.")
                yield Argument(kind, tuple(args), kwargs, statement.lineno)
            case _:
                raise refuse(shown(statement), statement)


def read_attributes(printed: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield (name, value) for each tensor that ``__init__`` sets. A graph inside is None there."""
    functions = [each for each in printed.body if isinstance(each, ast.FunctionDef)]
    for statement in next((each.body for each in functions if each.name == "__init__"), []):
        match statement:
            case ast.Expr(ast.Call(ast.Attribute(ast.Call(ast.Name("super")), "__init__"))):
                continue
            case ast.Assign([ast.Attribute(ast.Name("self"), name)], ast.Constant(None)):
                continue
            case ast.Expr(ast.Call(called, [ast.Constant(str(name)), value])) if (
                dotted_name(called) == "self.register_buffer"
            ):
                yield name, value
            case _:
                raise refuse(shown(statement), statement)
