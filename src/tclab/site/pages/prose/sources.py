"""Find the definition of a name such as ``torch._dynamo.eval_frame._optimize``.

The installed package is read, never imported: each module is parsed once, and
re-exports (``from .x import y``) are followed. The result is a file and a line,
and a link to that line in the public repository at the installed version.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeGuard

from tclab.errors import PageError
from tclab.site.pages.prose import installed_packages
from tclab.site.pages.prose.installed_packages import Module, NotFound

#: The number of re-exports to follow before a name counts as circular.
MAX_HOPS = 12


@dataclass(frozen=True)
class Location:
    """The place where a name is defined. `file` starts with the package's name; `line` counts from
    1.
    """

    name: str
    file: str
    line: int
    url: str


#: Name → its location. A build saves it for the next build.
found_locations: dict[str, Location] = {}


def locate(name: str) -> Location:
    """Find the definition of the dotted `name`. Raises NotFound if there is none."""
    if name not in found_locations:
        found_locations[name] = _find_location(name)
    return found_locations[name]


def _find_location(name: str) -> Location:
    package, *rest = name.split(".")
    module, line = _resolve(installed_packages.top_level(package), tuple(rest), MAX_HOPS)
    file = module.path.relative_to(
        installed_packages.top_level(package).path.parent.parent
    ).as_posix()
    return Location(
        name,
        file,
        line,
        f"{installed_packages.repository_url(package)}/{installed_packages.repository_path(file)}#L{line}",
    )


def locate_for_page(name: str, place: str) -> Location:
    """Find a definition, as `locate` does. If the name does not exist, raise PageError at `place`,
    with similar names as a hint.
    """
    try:
        return locate(name)
    except NotFound as error:
        near = difflib.get_close_matches(error.name, error.known, n=3, cutoff=0.5)
        hint = f"nearest: {', '.join(near)}" if near else "correct the reference, or take it out"
        cause = f"src:{name} does not exist in the installed version: {error}"
        raise PageError(place, cause, hint) from None


# --------------------------------------------------------------------------- modules


# a small cache, because the tree of a large module of PyTorch takes tens of MB
@lru_cache(maxsize=6)
def _parse_file(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8", errors="replace"))


@lru_cache(maxsize=6)
def _names_in_file(path: Path) -> dict[str, ast.stmt]:
    return dict(_bound_statements(_parse_file(path).body))


def _bound_statements(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """Yield (name, statement) for the names that a body binds.

    A definition has precedence over a later import.
    """
    bindings: dict[str, ast.stmt] = {}
    for statement in _nested_statements(body):
        for name in _bound_names(statement):
            if name not in bindings or _precedence(statement) >= _precedence(bindings[name]):
                bindings[name] = statement
    return iter(bindings.items())


def _precedence(statement: ast.stmt) -> int:
    """Return the precedence of a statement; of equal ranks the later one counts, as with
    overloads.
    """
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return 2
    return 1


def _nested_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body, including those inside if, try and with."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            for part in ("body", "orelse", "finalbody"):
                yield from _nested_statements(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from _nested_statements(handler.body)


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.split(".")[0]


# --------------------------------------------------------------------------- resolving


def _resolve(module: Module, parts: tuple[str, ...], hops: int) -> tuple[Module, int]:
    """Return (module, line) of the definition of the dotted `parts` within `module`. Raises
    NotFound if they do not exist.
    """
    if not parts:
        return module, 1
    if hops == 0:
        raise NotFound(parts[0], module.name, ())
    first, *rest = parts
    statement = _names_in_file(module.path).get(first)
    child = module.child(first)
    if child and (rest or statement is None or _imports_submodule(module, statement)):
        return _resolve_submodule(module, child, first, tuple(rest), hops)
    if statement is not None:
        return _resolve_binding(module, statement, first, tuple(rest), hops)
    return _resolve_star_imports(module, parts, hops)


def _imports_submodule(module: Module, statement: ast.stmt) -> bool:
    """Return whether the statement is ``import a.b`` or ``from . import b``, which binds a
    module.
    """
    if isinstance(statement, ast.ImportFrom):
        return _absolute_module(module, statement) == module.name
    return isinstance(statement, ast.Import)


def _resolve_submodule(
    module: Module, child: Module, first: str, rest: tuple[str, ...], hops: int
) -> tuple[Module, int]:
    """Look in the submodule first, then in a class or function of the same name."""
    try:
        return _resolve(child, rest, hops)
    except NotFound:
        statement = _names_in_file(module.path).get(first)
        if not isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.ImportFrom)):
            raise
        if _imports_submodule(module, statement):
            raise
        return _resolve_binding(module, statement, first, rest, hops)


def _resolve_binding(
    module: Module, statement: ast.stmt, name: str, rest: tuple[str, ...], hops: int
) -> tuple[Module, int]:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return _follow_import(module, statement, name, rest, hops)
    if isinstance(statement, ast.ClassDef) and rest:
        return module, _member_line(module, statement, rest)
    if not rest:
        return module, statement.lineno
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return module, statement.lineno  # `rest` names an attribute of the assigned object
    raise NotFound(rest[0], f"{module.name}.{name}", ())


def _follow_import(
    module: Module, statement: ast.stmt, name: str, rest: tuple[str, ...], hops: int
) -> tuple[Module, int]:
    """Follow ``from .x import y as name`` or ``import x.y as name``."""
    for alias in statement.names:  # type: ignore[attr-defined]
        if (alias.asname or alias.name.split(".")[0]) != name:
            continue
        if isinstance(statement, ast.ImportFrom):
            source = installed_packages.find_module(_absolute_module(module, statement))
            parts = (alias.name, *rest)
        else:
            source = installed_packages.find_module(alias.name if alias.asname else name)
            parts = rest
        if source is not None:
            return _resolve(source, parts, hops - 1)
    # the module is in C++ or in another package, so use the import's line
    return module, statement.lineno


def _absolute_module(module: Module, statement: ast.ImportFrom) -> str:
    if not statement.level:
        return statement.module or ""
    base = module.name.split(".")
    base = base[: len(base) - statement.level + (1 if module.is_package else 0)]
    return ".".join([*base, *([statement.module] if statement.module else [])])


def _member_line(module: Module, cls: ast.ClassDef, parts: tuple[str, ...]) -> int:
    """Return the line of a method, class attribute or nested class."""
    names = dict(_bound_statements(cls.body)) | _instance_attributes(cls)
    statement = names.get(parts[0])
    if statement is None:
        raise NotFound(parts[0], f"{module.name}.{cls.name}", tuple(names))
    if isinstance(statement, ast.ClassDef) and len(parts) > 1:
        return _member_line(module, statement, parts[1:])
    return statement.lineno


def _instance_attributes(cls: ast.ClassDef) -> dict[str, ast.stmt]:
    """Map each attribute to the first statement in the class that assigns ``self.name``."""
    attributes: dict[str, ast.stmt] = {}
    for node in ast.walk(cls):
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            if _is_self_attribute(target) and isinstance(node, ast.stmt):
                attributes.setdefault(target.attr, node)
    return attributes


def _is_self_attribute(target: ast.expr | None) -> TypeGuard[ast.Attribute]:
    """Return whether a target is ``self.name``."""
    return (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )


def _resolve_star_imports(module: Module, parts: tuple[str, ...], hops: int) -> tuple[Module, int]:
    """Look for the name in each ``from .x import *`` of the module."""
    known = set(_names_in_file(module.path))
    for statement in _nested_statements(_parse_file(module.path).body):
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            source = installed_packages.find_module(_absolute_module(module, statement))
            try:
                if source is not None:
                    return _resolve(source, parts, hops - 1)
            except NotFound as error:
                known |= set(error.known)
    if module.is_package:
        known |= {path.stem for path in module.path.parent.glob("*.py")}
        known |= {path.parent.name for path in module.path.parent.glob("*/__init__.py")}
    raise NotFound(parts[0], module.name, tuple(sorted(known)))
