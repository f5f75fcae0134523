"""Find a way round a line that reads the value of a tensor without dimensions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from tclab.explain.trials import rewrites
from tclab.explain.trials.remedy import Remedy
from tclab.explain.trials.runner import TrialRunner
from tclab.findings.breaks import TRIED

#: What PyTorch's errors and reasons name where a value is read.
_READS = re.compile(r"aten\._local_scalar_dense|Tensor\.item\(\)")
_EITHER = (
    "pass a Python number in place of a tensor without dimensions, or index with a tensor of "
    "shape [1] (Not tried.)"
)
_NUMBERS = Remedy("pass a Python number for", arguments="numbers", backend="inductor")
_WORKS = f"{TRIED} it compiles, and its results agree with eager's"


def find_way(
    runner: TrialRunner, text: str, line: int, error: str, breaks_before: int | None = None
) -> str:
    """Return a way round the read of a value at a line of the reader's file, whose content is
    `text`, with the outcome of its trial; '' if `error` names no such read, or no way helps. A way
    helps if something is compiled and the results agree with eager's. It also has to leave fewer
    than `breaks_before` graph breaks, if these are given.
    """
    if not _READS.search(error):
        return ""
    for remedy in _list_ways(text, line):
        result = runner.run(remedy)
        if result is None:
            return _EITHER
        fewer = breaks_before is None or result.breaks < breaks_before
        if result.error or not result.compiles or not fewer:
            continue
        compared = runner.run(replace(remedy, compared=True))
        if compared is None:
            return _EITHER
        if compared.agrees:
            names = " and ".join(f"`{name}`" for name in result.numbers)
            return f"{' '.join(filter(None, (remedy.description, names)))}. {_WORKS}"
    return ""


def _list_ways(text: str, line: int) -> Iterator[Remedy]:
    lines = text.splitlines()
    nodes = [node for node in ast.walk(rewrites.parse_file(text)) if _is_at(node, line)]
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            yield from rewrites.copy_by_index(node, node.targets[0], lines)
            yield from _copy_by_positions(node, node.targets[0], lines)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            yield from _select_by_index(node, lines)
    yield _NUMBERS
    # an attribute cannot be passed
    attributes = [each for node in nodes if isinstance(node, ast.Subscript)
                  for each in ast.walk(node.slice) if isinstance(each, ast.Attribute)]  # fmt: skip
    for each in attributes:
        number = f"{ast.unparse(each)}.item()"
        changed = rewrites.replace_expression(lines[line - 1], each, number)
        said = f"read the number yourself (line {line}), with a graph break there: "
        yield Remedy(said + changed.strip(), lines={line: changed}, backend="inductor")


def _is_at(node: ast.AST, line: int) -> bool:
    return isinstance(node, ast.stmt | ast.expr) and node.lineno == node.end_lineno == line


def _select_by_index(node: ast.Subscript, lines: list[str]) -> Iterator[Remedy]:
    """Rewrite ``rows[at]``, where `at` becomes a position of shape [1]."""
    if found := rewrites.find_position(node):
        what, dim, at = found
        code = f"{what}.index_select({dim}, {at}.reshape(1)).squeeze({dim})"
        said = f"a position of shape [1]: {code} (line {node.lineno}); {rewrites.READ_WITH_ITEM}"
        changed = rewrites.replace_expression(lines[node.lineno - 1], node, code)
        yield Remedy(said, lines={node.lineno: changed}, backend="inductor")


def _copy_by_positions(
    node: ast.Assign, target: ast.Subscript, lines: list[str]
) -> Iterator[Remedy]:
    """Rewrite ``keys[:, start:end] = new``, where `start` becomes the first of as many positions as
    `new` has.
    """
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    cuts = [each for each in parts if ast.unparse(each) != ":"]
    if len(cuts) != 1 or not isinstance(cuts[0], ast.Slice) or cuts[0].step or not cuts[0].lower:
        return
    dim, what, new = parts.index(cuts[0]), ast.unparse(target.value), ast.unparse(node.value)
    positions = (
        f"{ast.unparse(cuts[0].lower)} + torch.arange({new}.shape[{dim}], device={what}.device)"
    )
    code = f"{what}.index_copy_({dim}, {positions}, {new})"
    said = f"positions in place of a slice, whose bounds are read: {code} (line {node.lineno})"
    changed = rewrites.indent_like(code, lines[node.lineno - 1])
    yield Remedy(said, lines={node.lineno: changed}, backend="inductor")
