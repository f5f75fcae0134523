"""Advise on an ``if`` on a tensor's value that only raises: a graph cannot raise, nor can the
branches of torch.cond.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence

from tclab.explain import source
from tclab.explain.trials import rewrites
from tclab.explain.trials.remedy import Remedy
from tclab.model import Break, SourceLine

#: PyTorch's number for an ``if`` on the value of a tensor.
_IF = "GB0170"


def only_raises(item: Break) -> bool:
    """Return whether a break is at an ``if`` on a tensor's value whose body only raises."""
    return item.gb_id == _IF and item.location is not None and bool(_read_check(item.location))


def assert_in_graph(text: str, line: int) -> Remedy | None:
    """Return the remedy for ``if condition: raise …`` on a tensor: the graph itself asserts it."""
    path = _find_check(text, line)
    lines = text.splitlines()
    if not path or path[-1].orelse or not lines[path[-1].lineno - 1].lstrip().startswith("if"):
        return None  # an else or elif, whose branches are a choice
    at, end, test = path[-1].lineno, path[-1].end_lineno or line, path[-1].test
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
    """Return the ``if`` at a line whose body does nothing but raise, behind those around it in its
    function; an empty list if there is none.
    """
    path: list[ast.If] = []
    for node in ast.walk(rewrites.parse_file(text)):  # from the outside in
        if isinstance(node, ast.FunctionDef) and _has_line(node, node.body, line):
            path = []
        elif isinstance(node, ast.Try) and _has_line(node, node.body, line):
            return []  # what is raised may be caught
        elif isinstance(node, ast.If) and _has_line(node, node.body, line):
            path.append(node)
    ends = path and path[-1].lineno <= line <= (path[-1].test.end_lineno or 0)
    return path if ends and _only_raises(path[-1].body) else []


def _has_line(node: ast.stmt, body: Sequence[ast.stmt], line: int) -> bool:
    return node.lineno <= line <= (body[-1].end_lineno or 0)


def _only_raises(body: Sequence[ast.stmt]) -> bool:
    others = (ast.Return, ast.Break, ast.Continue, ast.Yield)
    inner = (each for statement in body for each in ast.walk(statement))
    return isinstance(body[-1], ast.Raise) and not any(isinstance(each, others) for each in inner)


def _switches(node: ast.If) -> Iterator[ast.expr]:
    """Yield the parts of an ``if``'s condition that are a name or an attribute alone."""
    test = node.test
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    yield from (part for part in parts if isinstance(part, ast.Name | ast.Attribute))
