"""Replace the objects among a code object's constants, so that printing it calls no foreign code.

A function that outlives a graph break is made from constants in Dynamo's rewritten bytecode. One of
these constants is the dictionary of the module's globals, whose repr contains the repr of every
object in the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

_ATOMS = (type(None), type(...), bool, int, float, complex, str, bytes)
_TORCH_ATOMS = {"dtype", "device", "layout", "memory_format", "Size"}


@dataclass(frozen=True)
class _Named:
    """A constant that only shows the name of the object that it replaces."""

    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


def name_objects(code: CodeType) -> CodeType:
    """Return a copy of `code` with the same instructions. Each constant that is not a number, a
    text, a type or a value of PyTorch is replaced by a name that is the same in each process.
    """
    return code.replace(co_consts=tuple(_can_be_named(value) for value in code.co_consts))


def _can_be_named(value: Any) -> Any:
    kind = type(value)
    if kind is CodeType:
        return name_objects(value)
    if kind in (tuple, frozenset):
        return kind(_can_be_named(item) for item in value)
    if kind is slice:
        return slice(*map(_can_be_named, (value.start, value.stop, value.step)))
    if kind in _ATOMS or (kind.__module__ == "torch" and kind.__name__ in _TORCH_ATOMS):
        return value
    return _Named(_name(value))


def _name(value: object) -> str:
    if isinstance(value, type):
        return f"class '{value.__module__}.{value.__qualname__}'"
    if type(value) is dict and "__builtins__" in value:
        return f"globals of {_module_name(value)}"
    return f"{type(value).__module__}.{type(value).__qualname__} object"


def _module_name(module_globals: Mapping[str, Any]) -> str:
    name = module_globals.get("__name__")
    return name if type(name) is str else "a module without a name"
