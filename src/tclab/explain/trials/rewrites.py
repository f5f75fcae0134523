"""Rewrite lines of the reader's file in ways that may make a failing compile succeed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tclab.explain.trials.remedy import Remedy

#: At most this number of rewritten lines are tried.
_MOST_LINES = 4
READ_WITH_ITEM = "a tensor of no dimension as an index is read with .item()"


def list_rewrites(text: str, first: int = 0) -> list[Remedy]:
    """Return replacements for lines of a file, each as a remedy; the replacement of line `first`,
    if any, comes first.
    """
    lines = text.splitlines()
    every = [remedy for node in ast.walk(parse_file(text)) for remedy in _rewrite_node(node, lines)]
    every.sort(key=lambda remedy: first not in remedy.lines)
    return every[:_MOST_LINES]


def parse_file(text: str) -> ast.Module:
    """Parse a file; return an empty tree if it cannot be parsed."""
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.Module([], [])


def _rewrite_node(node: ast.AST, lines: Sequence[str]) -> Iterator[Remedy]:
    if isinstance(node, ast.With):
        yield from _replace_inference_mode(node.lineno, lines)
    elif isinstance(node, ast.FunctionDef):
        for decorator in node.decorator_list:
            yield from _replace_inference_mode(decorator.lineno, lines)
    elif isinstance(node, ast.Assign) and node.lineno == node.end_lineno:
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            yield from copy_by_index(node, target, lines)
            yield from _rewrite_out_of_place(node, target, lines)


def _replace_inference_mode(line_number: int, lines: Sequence[str]) -> Iterator[Remedy]:
    """Replace inference_mode in ``with torch.inference_mode():`` and
    ``@torch.inference_mode()``.
    """
    line = lines[line_number - 1]
    if "inference_mode(" in line:
        said = f"torch.no_grad() in place of torch.inference_mode() (line {line_number})"
        yield _make_remedy(said, line_number, line.replace("inference_mode(", "no_grad("))


def copy_by_index(
    node: ast.Assign, target: ast.Subscript, lines: Sequence[str]
) -> Iterator[Remedy]:
    """Rewrite ``keys[:, at] = new`` or ``keys[at, 1:] = 0``, where `at` becomes a position of shape
    [1].
    """
    if not (found := find_position(target)):
        return
    what, dim, name = found
    new, at = ast.unparse(node.value), f"{name}.reshape(1)"
    if isinstance(node.value, ast.Constant):
        code = f"{what}.index_fill_({dim}, {at}, {new})"
    else:
        code = f"{what}.index_copy_({dim}, {at}, ({new}).unsqueeze({dim}))"
    said = f"a position of shape [1]: {code} (line {node.lineno}); {READ_WITH_ITEM}"
    yield _make_remedy(said, node.lineno, indent_like(code, lines[node.lineno - 1]))


def find_position(node: ast.Subscript) -> tuple[str, int, str] | None:
    """Return what ``keys[:, at]`` indexes, the dimension, and the name of the position: ``keys``,
    1, ``at``. All other indices are slices, with which what is indexed is cut first.
    """
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    indices = [each for each in parts if not isinstance(each, ast.Slice)]
    if len(indices) != 1 or not isinstance(indices[0], ast.Name | ast.Attribute):
        return None
    slices = [ast.unparse(each) if isinstance(each, ast.Slice) else ":" for each in parts]
    cut = f"[{', '.join(slices)}]" if any(each != ":" for each in slices) else ""
    return f"{ast.unparse(node.value)}{cut}", parts.index(indices[0]), ast.unparse(indices[0])


def _rewrite_out_of_place(
    node: ast.Assign, target: ast.Subscript, lines: Sequence[str]
) -> Iterator[Remedy]:
    """Rewrite ``mask[rows, columns] = 0`` as an out-of-place operation."""
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    if not isinstance(target.value, ast.Name) or any(isinstance(each, ast.Slice) for each in parts):
        return
    what, new = target.value.id, ast.unparse(node.value)
    indices = ", ".join(map(ast.unparse, parts))
    value = f"torch.as_tensor({new}, dtype={what}.dtype, device={what}.device)"
    code = f"{what} = {what}.index_put(({indices},), {value})"
    said = f"the out-of-place form (line {node.lineno}): {code}"
    yield _make_remedy(said, node.lineno, indent_like(code, lines[node.lineno - 1]))


def disabled_functions(text: str, line: int) -> Iterator[Remedy]:
    """Yield a remedy that disables the compiler for the innermost function around a line."""
    around = [
        node for node in ast.walk(parse_file(text))
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]  # fmt: skip
    for node in sorted(around, key=lambda each: -each.lineno)[:1]:
        at = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        code = text.splitlines()[at - 1]
        said = f"@torch.compiler.disable above {node.name} (line {at}): Python runs it then"
        lines = f"{indent_like('@torch.compiler.disable', code)}\n{code}"
        yield replace(_make_remedy(said, at, lines), disables=True)


def _make_remedy(description: str, line: int, code: str) -> Remedy:
    return Remedy(description, lines={line: code}, backend="inductor")


def indent_like(code: str, template_line: str) -> str:
    """Return code with the indentation of the line `template_line`."""
    return template_line[: len(template_line) - len(template_line.lstrip())] + code


def replace_expression(line: str, node: ast.expr, new: str) -> str:
    """Return the line with one expression replaced; columns count bytes."""
    data = line.encode()
    return (data[: node.col_offset] + new.encode() + data[node.end_col_offset :]).decode()


def move_compiles(text: str, failing_line: int) -> Iterator[Remedy]:
    """Yield remedies. Each remedy moves a statement with torch.compile from before the line
    `failing_line` to after this line.
    """
    lines = text.splitlines()
    for number, line in enumerate(lines[: failing_line - 1], 1):
        if "torch.compile(" in line and _indent(line) == _indent(lines[failing_line - 1]):
            said = f"move `{line.strip()}` (line {number}) behind line {failing_line}"
            blank = indent_like("pass", line)
            yield Remedy(
                said, lines={number: blank, failing_line: f"{lines[failing_line - 1]}\n{line}"}
            )


# torch.compile(optimizer.step, dynamic=False)
_COMPILED_METHOD = re.compile(
    r"torch\.compile\((?P<owner>\w+(?:\.\w+)*)\.(?P<name>\w+)(?P<options>, [^()]*)?\)"
)


def rebind_compiled_methods(text: str) -> Iterator[Remedy]:
    """Yield remedies that each compile the function behind a bound method, and bind the result to
    the object again.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if match := _COMPILED_METHOD.search(line):
            owner, method = match["owner"], f"{match['owner']}.{match['name']}"
            new = f"torch.compile({method}.__func__{match['options'] or ''}).__get__({owner})"
            changed = line.replace(match[0], new)
            said = (
                "compile the method's function and bind it, as types.MethodType(function, object) "
                f"does (line {number}): {changed.strip()}"
            )
            yield Remedy(said, lines={number: changed})


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
