"""A private name of PyTorch or Triton: where it lives, where it was seen, what it is for.

Each module of this room holds a table ``NAMES`` of those it relies on; what is gone in a new
PyTorch is named by `gone`, and `check` asks for all of them.
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

_OURS = Path(__file__).parents[2]
_TABLES = "capturing/torch_private/"

# GraphLowering.run
_DOTTED = re.compile(r"\w+(\.\w+)*")


@dataclass(frozen=True)
class Private:
    """`name` is a dotted path below `module`, to a module or to something in one; `seen` are the
    versions it was found in.
    """

    module: str
    name: str
    use: str
    seen: str = _TORCH

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"

    def value(self) -> Any:
        """What the name stands for. ImportError or AttributeError where it is gone."""
        return functools.reduce(_below, self.name.split("."), importlib.import_module(self.module))

    def exists(self) -> bool:
        """Whether the module can be imported and the path leads to something."""
        try:
            self.value()
        except (ImportError, AttributeError):
            return False
        return True

    def files(self, folder: Path = _OURS) -> str:
        """The files of tclab that name it, the tables first: what a new PyTorch makes wrong."""
        files = {p.relative_to(folder).as_posix(): p for p in sorted(folder.rglob("*.py"))}
        naming = [name for name, path in files.items() if self._is_named_in(path)]
        return ", ".join(sorted(naming, key=lambda name: not name.startswith(_TABLES)))

    def _is_named_in(self, path: Path) -> bool:
        """Whether one statement has all of the name, and some statement what it is a name of."""
        statements, parts = _words(path), set(self.name.split("."))
        owner = str(self).split(".")[-2]
        whole = any(parts <= words for words in statements)
        return whole and any(owner in words for words in statements)


@functools.cache
def _words(path: Path) -> tuple[frozenset[str], ...]:
    """The names in each statement of a module, and those in strings that are dotted names."""
    return tuple(frozenset(_names(each)) for each in ast.parse(path.read_bytes()).body)


def _names(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        for _, value in ast.iter_fields(node):
            if isinstance(value, str) and _DOTTED.fullmatch(value):  # no prose
                yield from value.split(".")


def _below(owner: Any, name: str) -> Any:
    """An attribute, or a module of a package that nobody has imported yet."""
    if isinstance(owner, ModuleType) and not hasattr(owner, name) and hasattr(owner, "__path__"):
        return importlib.import_module(f"{owner.__name__}.{name}")
    return getattr(owner, name)


def gone(names: Iterable[Private]) -> list[str]:
    """A sentence for each name that is not where it was; empty if all is well."""
    return [
        f"{p} is gone (used for: {p.use}; seen in {p.seen}; named in {p.files()})"
        for p in names
        if not p.exists()
    ]
