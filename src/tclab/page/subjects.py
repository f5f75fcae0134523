"""Which lines of a snippet the text around it speaks of: what it gives to the compiler.

A snippet is a few lines of the reader's kind of code, and more that compile, check and show it.
The first are functions that are passed on, decorated or compiled as a module's class; helpers
are called instead. A page may name others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tclab import spans
from tclab.errors import PageError
from tclab.model import Snippet

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

#: Shorter code is shown whole.
SHORT = 16


def focus(
    snippet: Snippet, lines: tuple[int, int], named: Sequence[str] | None, place: str
) -> list[tuple[int, int]]:
    """Ranges of lines to show of `lines`, in order; none where all of them are shown.

    `named` are functions and classes of the snippet; None takes those it gives to the compiler,
    an empty sequence all lines. PageError at `place` for a name that is not there.
    """
    first, last = lines
    if named is None and last - first < SHORT:
        return []
    defined = dict(_defined(snippet.tree))
    for name in named or ():
        if name not in defined:
            cause = f"{snippet.name} defines no {name!r}"
            raise PageError(place, cause, f"it defines: {', '.join(defined) or 'nothing'}")
    wanted = _given(snippet.tree, defined) if named is None else set(named)
    ranges = {spans.lines_of(node) for name, node in defined.items() if name in wanted}
    return sorted((a, b) for a, b in ranges if first <= a and b <= last)


def _defined(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """(name, statement) of the functions, classes and values of a file."""
    for node in tree.body:
        if isinstance(node, _Definition):
            yield node.name, node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node


def _given(tree: ast.Module, defined: Mapping[str, ast.stmt]) -> set[str]:
    """Names of what the compiler gets to see; every definition where that cannot be told."""
    passed = _passed(tree)
    definitions = {name: node for name, node in defined.items() if isinstance(node, _Definition)}
    given = [
        name
        for name, node in definitions.items()
        if node.decorator_list
        or (_is_module(node) if isinstance(node, ast.ClassDef) else name in passed)
    ]
    return set(_with_used(given, defined)) or set(definitions)


def _passed(tree: ast.Module) -> set[str]:
    """Names that are used as values: not called, not assigned."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {name.id for name in _loaded(tree) if id(name) not in called}


def _loaded(tree: ast.AST) -> Iterator[ast.Name]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node


def _is_module(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith("Module") for base in node.bases)


def _with_used(names: Iterable[str], defined: Mapping[str, ast.stmt]) -> Iterator[str]:
    """The names, and those of the file that their statements use."""
    todo, seen = list(names), set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        yield name
        todo += [used for used in _free(defined[name]) if used in defined]


def _free(node: ast.stmt) -> set[str]:
    """Names that a statement uses and does not bind: no arguments, no locals."""
    bound = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    bound |= {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    return {name.id for name in _loaded(node)} - bound
