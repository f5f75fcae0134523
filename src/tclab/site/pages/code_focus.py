"""Choose the lines of a snippet that stay open on a page: by default, the functions it compiles.

A snippet has a few lines of code as readers write it, and more lines that compile, check and show
this code. A function counts as compiled if it is passed as a value, is decorated, or is a method of
a ``Module`` class. A function that is only called counts as a helper. A page can choose other
functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tclab.errors import PageError
from tclab.model import Snippet
from tclab.text import spans

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

#: Code with fewer lines is shown whole.
SHOWN_WHOLE_BELOW = 16


def focus_ranges(
    snippet: Snippet, lines: tuple[int, int], selected_names: Sequence[str] | None, place: str
) -> list[tuple[int, int]]:
    """Return the ranges of `lines` that stay open, in order; an empty list if all lines stay open.

    `selected_names` lists functions and classes of the snippet. None selects the functions that the
    snippet compiles; an empty sequence selects all lines. Raises PageError at `place` for an
    unknown name.
    """
    first, last = lines
    if selected_names is None and last - first < SHOWN_WHOLE_BELOW:
        return []
    defined = dict(_list_definitions(snippet.tree))
    for name in selected_names or ():
        if name not in defined:
            cause = f"{snippet.name} defines no {name!r}"
            raise PageError(place, cause, f"it defines: {', '.join(defined) or 'nothing'}")
    wanted = (
        _names_for_compiler(snippet.tree, defined)
        if selected_names is None
        else set(selected_names)
    )
    ranges = {spans.statement_lines(node) for name, node in defined.items() if name in wanted}
    return sorted((a, b) for a, b in ranges if first <= a and b <= last)


def _list_definitions(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Yield (name, statement) for the functions, classes and values of a file."""
    for node in tree.body:
        if isinstance(node, _Definition):
            yield node.name, node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node


def _names_for_compiler(tree: ast.Module, defined: Mapping[str, ast.stmt]) -> set[str]:
    """Return the names of the definitions that the snippet compiles; if this is unclear, all
    names.
    """
    values = _names_used_as_values(tree)
    definitions = {name: node for name, node in defined.items() if isinstance(node, _Definition)}
    compiled = [
        name
        for name, node in definitions.items()
        if node.decorator_list
        or (_is_module(node) if isinstance(node, ast.ClassDef) else name in values)
    ]
    return set(_add_dependencies(compiled, defined)) or set(definitions)


def _names_used_as_values(tree: ast.Module) -> set[str]:
    """Return the names that are used as values, neither called nor assigned."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {name.id for name in _name_reads(tree) if id(name) not in called}


def _name_reads(tree: ast.AST) -> Iterator[ast.Name]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node


def _is_module(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith("Module") for base in node.bases)


def _add_dependencies(names: Iterable[str], definitions: Mapping[str, ast.stmt]) -> Iterator[str]:
    """Yield these names, and the names in the same file that their definitions use."""
    pending, seen = list(names), set()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        yield name
        pending += [used for used in _free_names(definitions[name]) if used in definitions]


def _free_names(node: ast.stmt) -> set[str]:
    """Return the names that a statement uses but does not bind as an argument or a local."""
    bound = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    bound |= {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    return {name.id for name in _name_reads(node)} - bound
