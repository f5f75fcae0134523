"""Find where a name such as ``torch._dynamo.eval_frame._optimize`` is defined.

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
from tclab.page.prose import installed
from tclab.page.prose.installed import Module, NotFound

#: How many re-exports are followed before a name counts as circular.
MAX_HOPS = 12


@dataclass(frozen=True)
class Location:
    """Where a name is defined. `file` starts with the package's name; `line` counts from 1."""

    name: str
    file: str
    line: int
    url: str


#: What was found, by name. A build keeps it for the next one.
known: dict[str, Location] = {}


def locate(name: str) -> Location:
    """The place that defines the dotted `name`; NotFound if there is none."""
    if name not in known:
        known[name] = _locate(name)
    return known[name]


def _locate(name: str) -> Location:
    package, *rest = name.split(".")
    module, line = _resolve(installed.top_level(package), tuple(rest), MAX_HOPS)
    file = module.path.relative_to(installed.top_level(package).path.parent.parent).as_posix()
    return Location(
        name, file, line, f"{installed.repository(package)}/{installed.in_repository(file)}#L{line}"
    )


def link(name: str, place: str) -> Location:
    """As `locate`, with a PageError that names `place` and the nearest names."""
    try:
        return locate(name)
    except NotFound as error:
        near = difflib.get_close_matches(error.name, error.known, n=3, cutoff=0.5)
        hint = f"nearest: {', '.join(near)}" if near else "correct the reference, or take it out"
        cause = f"src:{name} does not exist in the installed version: {error}"
        raise PageError(place, cause, hint) from None


# --------------------------------------------------------------------------- modules


@lru_cache(maxsize=6)  # a tree of PyTorch's larger modules takes tens of MB
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8", errors="replace"))


@lru_cache(maxsize=6)
def _names(path: Path) -> dict[str, ast.stmt]:
    return dict(_bindings(_tree(path).body))


def _bindings(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """(name, statement) for what a body binds; a definition wins over a later import."""
    bindings: dict[str, ast.stmt] = {}
    for statement in _flatten(body):
        for name in _bound(statement):
            if name not in bindings or _weight(statement) >= _weight(bindings[name]):
                bindings[name] = statement
    return iter(bindings.items())


def _weight(statement: ast.stmt) -> int:
    """Overloads and TYPE_CHECKING imports come before the real thing, so later wins."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return 2
    return 1


def _flatten(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a body, with those inside if, try and with blocks."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            for part in ("body", "orelse", "finalbody"):
                yield from _flatten(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from _flatten(handler.body)


def _bound(statement: ast.stmt) -> Iterator[str]:
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
    """(module, line) of the dotted `parts` within `module`."""
    if not parts:
        return module, 1
    if hops == 0:
        raise NotFound(parts[0], module.name, ())
    first, *rest = parts
    statement = _names(module.path).get(first)
    child = module.child(first)
    if child and (rest or statement is None or _imports_submodule(module, statement)):
        return _submodule(module, child, first, tuple(rest), hops)
    if statement is not None:
        return _bound_name(module, statement, first, tuple(rest), hops)
    return _starred(module, parts, hops)


def _imports_submodule(module: Module, statement: ast.stmt) -> bool:
    """Whether it is ``import a.b`` or ``from . import b``: what it binds is a module."""
    if isinstance(statement, ast.ImportFrom):
        return _absolute(module, statement) == module.name
    return isinstance(statement, ast.Import)


def _submodule(
    module: Module, child: Module, first: str, rest: tuple[str, ...], hops: int
) -> tuple[Module, int]:
    """Look in the submodule; a class or function of the same name is the second choice."""
    try:
        return _resolve(child, rest, hops)
    except NotFound:
        statement = _names(module.path).get(first)
        if not isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.ImportFrom)):
            raise
        if _imports_submodule(module, statement):
            raise
        return _bound_name(module, statement, first, rest, hops)


def _bound_name(
    module: Module, statement: ast.stmt, name: str, rest: tuple[str, ...], hops: int
) -> tuple[Module, int]:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return _imported(module, statement, name, rest, hops)
    if isinstance(statement, ast.ClassDef) and rest:
        return module, _member(module, statement, rest)
    if not rest:
        return module, statement.lineno
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return module, statement.lineno  # an attribute of an object made here
    raise NotFound(rest[0], f"{module.name}.{name}", ())


def _imported(
    module: Module, statement: ast.stmt, name: str, rest: tuple[str, ...], hops: int
) -> tuple[Module, int]:
    """Follow ``from .x import y as name`` or ``import x.y as name``."""
    for alias in statement.names:  # type: ignore[attr-defined]
        if (alias.asname or alias.name.split(".")[0]) != name:
            continue
        if isinstance(statement, ast.ImportFrom):
            source = installed.module(_absolute(module, statement))
            parts = (alias.name, *rest)
        else:
            source = installed.module(alias.name if alias.asname else name)
            parts = rest
        if source is not None:
            return _resolve(source, parts, hops - 1)
    return module, statement.lineno  # from C++ or another package: the import is what we have


def _absolute(module: Module, statement: ast.ImportFrom) -> str:
    if not statement.level:
        return statement.module or ""
    base = module.name.split(".")
    base = base[: len(base) - statement.level + (1 if module.is_package else 0)]
    return ".".join([*base, *([statement.module] if statement.module else [])])


def _member(module: Module, cls: ast.ClassDef, parts: tuple[str, ...]) -> int:
    """Line of a method, class attribute or nested class."""
    names = dict(_bindings(cls.body)) | _instance_attributes(cls)
    statement = names.get(parts[0])
    if statement is None:
        raise NotFound(parts[0], f"{module.name}.{cls.name}", tuple(names))
    if isinstance(statement, ast.ClassDef) and len(parts) > 1:
        return _member(module, statement, parts[1:])
    return statement.lineno


def _instance_attributes(cls: ast.ClassDef) -> dict[str, ast.stmt]:
    """Names assigned as ``self.x`` anywhere in the class, first assignment."""
    attributes: dict[str, ast.stmt] = {}
    for node in ast.walk(cls):
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            if _of_self(target) and isinstance(node, ast.stmt):
                attributes.setdefault(target.attr, node)
    return attributes


def _of_self(target: ast.expr | None) -> TypeGuard[ast.Attribute]:
    """Whether a target is ``self.name``."""
    return (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )


def _starred(module: Module, parts: tuple[str, ...], hops: int) -> tuple[Module, int]:
    """Try each ``from .x import *`` of the module."""
    known = set(_names(module.path))
    for statement in _flatten(_tree(module.path).body):
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            source = installed.module(_absolute(module, statement))
            try:
                if source is not None:
                    return _resolve(source, parts, hops - 1)
            except NotFound as error:
                known |= set(error.known)
    if module.is_package:
        known |= {path.stem for path in module.path.parent.glob("*.py")}
        known |= {path.parent.name for path in module.path.parent.glob("*/__init__.py")}
    raise NotFound(parts[0], module.name, tuple(sorted(known)))
