"""Find the outermost function around a line of a Python file."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Lines `first` to `last` of a file, inclusive; `name` is the function, or ``Class.method``."""

    first: int
    last: int
    name: str = ""


def enclosing_functions(source: str, lines: Iterable[int]) -> list[Span]:
    """Return the outermost functions or methods around these lines, each once, in order.

    For a line outside of functions return the span of its statement, named after the class around
    it, if any. In a file that is not Python, the span is the line itself.
    """
    try:
        body = ast.parse(source).body
    except SyntaxError:
        body = []
    spans = {_enclosing_span(body, line, ()) for line in lines}
    return sorted(spans, key=lambda span: (span.first, span.last))


def statement_lines(statement: ast.stmt) -> tuple[int, int]:
    """Return the first and last line of a statement, its decorators included."""
    decorators = getattr(statement, "decorator_list", ())
    first = min([statement.lineno, *(each.lineno for each in decorators)])
    return first, statement.end_lineno or statement.lineno


def _enclosing_span(body: Sequence[ast.stmt], line: int, class_names: tuple[str, ...]) -> Span:
    for statement in body:
        first, last = statement_lines(statement)
        if first <= line <= last:
            if isinstance(statement, ast.ClassDef):
                return _enclosing_span(statement.body, line, (*class_names, statement.name))
            name = getattr(statement, "name", "")
            return Span(first, last, ".".join([*class_names, name] if name else class_names))
    return Span(line, line, ".".join(class_names))
