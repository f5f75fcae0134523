"""Define a private name of PyTorch or Triton: its module, the versions that have the name, and its
use.

Each module of this package lists the names it uses in a table ``NAMES``. `describe_missing` says
which of them a new PyTorch lacks; `check` calls it for all tables.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

TRITON = "triton 3.6 3.7 3.8 3.9"
_TORCH = "torch 2.11 2.12 2.13 2.14 2.15"

_PACKAGE_FOLDER = Path(__file__).parents[2]
_TABLES_FOLDER = "capturing/torch_private/"

# GraphLowering.run
_DOTTED = re.compile(r"\w+(\.\w+)*")


@dataclass(frozen=True)
class Private:
    """A private name. `name` is a dotted path below `module`, to a module or an attribute. `seen`
    lists the versions that have the name, and `use` says what tclab uses it for.
    """

    module: str
    name: str
    use: str
    seen: str = _TORCH

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"

    def value(self) -> Any:
        """Return the object with this name; raise ImportError or AttributeError if it is gone."""
        return functools.reduce(
            _get_member, self.name.split("."), importlib.import_module(self.module)
        )

    def exists(self) -> bool:
        """Return whether this PyTorch or Triton has the name."""
        try:
            self.value()
        except (ImportError, AttributeError):
            return False
        return True

    def files(self, folder: Path = _PACKAGE_FOLDER) -> str:
        """Return the files of tclab that use the name, joined with commas; files with tables come
        first.
        """
        files = {p.relative_to(folder).as_posix(): p for p in sorted(folder.rglob("*.py"))}
        users = [name for name, path in files.items() if self._is_named_in(path)]
        return ", ".join(sorted(users, key=lambda name: not name.startswith(_TABLES_FOLDER)))

    def _is_named_in(self, path: Path) -> bool:
        """Return whether one statement of the file has all parts of the name, and some statement
        has its owner.
        """
        statements, parts = _names_by_statement(path), set(self.name.split("."))
        owner = str(self).split(".")[-2]
        whole = any(parts <= words for words in statements)
        return whole and any(owner in words for words in statements)


@functools.cache
def _names_by_statement(path: Path) -> tuple[frozenset[str], ...]:
    """Return the names in each statement of a module; a string that is a dotted name counts as a
    name.
    """
    return tuple(
        frozenset(_names_in_statement(statement)) for statement in ast.parse(path.read_bytes()).body
    )


def _names_in_statement(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        for _, value in ast.iter_fields(node):
            if isinstance(value, str) and _DOTTED.fullmatch(value):  # skip strings that are prose
                yield from value.split(".")


def _get_member(owner: Any, name: str) -> Any:
    """Return an attribute of `owner`; import it if it is a submodule not yet imported."""
    if isinstance(owner, ModuleType) and not hasattr(owner, name) and hasattr(owner, "__path__"):
        return importlib.import_module(f"{owner.__name__}.{name}")
    return getattr(owner, name)


def describe_missing(names: Iterable[Private]) -> list[str]:
    """Return a sentence for each of `names` that this PyTorch or Triton lacks."""
    return [
        f"{p} is gone (used for: {p.use}; seen in {p.seen}; named in {p.files()})"
        for p in names
        if not p.exists()
    ]
