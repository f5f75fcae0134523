"""A private name of PyTorch or Triton: where it lives, where it was seen, what it is for.

Each module of this room holds a table ``NAMES`` of those it relies on; what is gone in a new
PyTorch is named by `gone`, and `check` asks for all of them.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

TRITON = "triton 3.6 3.7 3.8 3.9"
_TORCH = "torch 2.11 2.12 2.13 2.14 2.15"

_OURS = Path(__file__).parents[2]
_TABLES = "capturing/torch_private/"


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

    def files(self) -> str:
        """The files of tclab that name it, the tables first: what a new PyTorch makes wrong."""
        # from torch._inductor.graph import GraphLowering
        word = re.compile(rf"\b{self.name.split('.')[0]}\b")
        texts = {path: path.read_text(encoding="utf-8") for path in sorted(_OURS.rglob("*.py"))}
        naming = [path.relative_to(_OURS).as_posix() for path in texts if word.search(texts[path])]
        return ", ".join(sorted(naming, key=lambda name: not name.startswith(_TABLES)))


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
