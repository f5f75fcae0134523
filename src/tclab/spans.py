"""Where functions stand in a file of Python: the outermost one around a line."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Lines of a file, both included; `name` is the function's, ``Class.method`` in a class."""

    first: int
    last: int
    name: str = ""


def around(source: str, lines: Iterable[int]) -> list[Span]:
    """The outermost functions (methods, in classes) around these lines, each once, in order.

    A line in no function stands for its statement, under the name of its class if it has one;
    in a file that is not Python, for itself.
    """
    try:
        body = ast.parse(source).body
    except SyntaxError:
        body = []
    spans = {_around(body, line, ()) for line in lines}
    return sorted(spans, key=lambda span: (span.first, span.last))


def lines_of(statement: ast.stmt) -> tuple[int, int]:
    """First and last line of a statement, its decorators included."""
    decorators = getattr(statement, "decorator_list", ())
    first = min([statement.lineno, *(each.lineno for each in decorators)])
    return first, statement.end_lineno or statement.lineno


def _around(body: Sequence[ast.stmt], line: int, path: tuple[str, ...]) -> Span:
    for statement in body:
        first, last = lines_of(statement)
        if first <= line <= last:
            if isinstance(statement, ast.ClassDef):
                return _around(statement.body, line, (*path, statement.name))
            name = getattr(statement, "name", "")
            return Span(first, last, ".".join([*path, name] if name else path))
    return Span(line, line, ".".join(path))
