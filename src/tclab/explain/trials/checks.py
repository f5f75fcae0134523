"""Advise on an ``if`` on a tensor's value that only raises: a graph cannot raise, nor can the
branches of torch.cond.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

from tclab.explain import source
from tclab.explain.trials import rewrites
from tclab.explain.trials.remedy import Remedy
from tclab.model import Break, SourceLine

#: PyTorch's number for an ``if`` on the value of a tensor.
_IF = "GB0170"


def only_raises(item: Break) -> bool:
    """Return whether a break is at an ``if`` on a tensor's value whose body ends with a raise."""
    return item.gb_id == _IF and item.location is not None and bool(_read_check(item.location))


def assert_in_graph(text: str, line: int) -> Remedy | None:
    """Return the remedy for ``if condition: raise …`` on a tensor: the graph itself asserts it."""
    path = _find_check(text, line)
    if not path or path[-1].orelse:
        return None
    lines, test = text.splitlines(), path[-1].test
    at, end = path[-1].lineno, path[-1].end_lineno or line
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        holds = ast.unparse(test.operand)
    else:
        holds = f"torch.logical_not({ast.unparse(test)})"
    code = f"torch._assert_async({holds})"
    blanks = dict.fromkeys(range(at + 1, end + 1), "")
    said = f"Let the graph make the check (line {at}), with a RuntimeError: {code}."
    return Remedy(said, lines={**blanks, at: rewrites.indent_like(code, lines[at - 1])})


def advise_from_outside(place: SourceLine) -> str:
    """Return what a reader can do about a check in a file that is not theirs to change."""
    *around, _ = _read_check(place)
    switches = " and ".join(f"`{ast.unparse(test)}`" for each in around for test in _switches(each))
    check = f"The check in {place.function} ({place}) raises, and a graph or torch.cond cannot."
    if switches:
        return f"{check} It is made only if {switches}: turn that off."
    return f"{check} Make the call before the compiled code, or keep the break."


def _read_check(place: SourceLine) -> list[ast.If]:
    lines = linecache.getlines(source.files().get(place.file, place.file))
    return _find_check("".join(lines), place.line)


def _find_check(text: str, line: int) -> list[ast.If]:
    """Return the ``if`` at a line whose body ends with a raise, behind those around it in its
    function; an empty list if there is none.
    """
    path: list[ast.If] = []
    for node in ast.walk(rewrites.parse_file(text)):  # from the outside in
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
            path = []
        elif isinstance(node, ast.If) and any(
            each.lineno <= line <= (each.end_lineno or 0) for each in (node.test, *node.body)
        ):
            path.append(node)
    ends = path and path[-1].lineno <= line <= (path[-1].test.end_lineno or 0)
    return path if ends and isinstance(path[-1].body[-1], ast.Raise) else []


def _switches(node: ast.If) -> Iterator[ast.expr]:
    """Yield the parts of an ``if``'s condition that are a name or an attribute alone."""
    test = node.test
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    yield from (part for part in parts if isinstance(part, ast.Name | ast.Attribute))
