"""Open the result of a call: the tensors and plain values that it contains, each with a name.

PyTorch flattens the containers that it knows. Data classes, objects, sets, NumPy arrays and
subclasses of dict are opened here, because a verdict on a result must not leave out what is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from enum import Enum
from types import FunctionType, MethodType, ModuleType
from typing import Any

import torch

from tclab.capturing.torch_private import compiler
from tclab.text import user_lines

SIMPLE = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.Size)
#: Objects that are equal if their texts are.
_BY_TEXT = (range, slice, Enum)
_CODE = (type, FunctionType, MethodType, ModuleType)


def open_outputs(result: object) -> Iterator[tuple[str, Any, bool]]:
    """Yield (name, value, opened) for each value in a result, such as ``output 0`` and ``output
    0.loss``: tensors, plain values, and the objects that contain them. `opened` is False for an
    object whose parts are not known, such as a generator.
    """
    for place, leaf in enumerate(compiler.nested_leaves(result)):
        yield from _open(leaf, f"output {place}", set())


def output_tensors(result: object) -> list[torch.Tensor]:
    """Return the tensors in a result, in order."""
    return [value for _, value, _ in open_outputs(result) if isinstance(value, torch.Tensor)]


def _open(value: Any, name: str, seen_ids: set[int]) -> Iterator[tuple[str, Any, bool]]:
    if isinstance(value, SIMPLE) or (isinstance(value, torch.Tensor) and not value.is_nested):
        yield name, value, True
        return
    if id(value) in seen_ids:
        return
    seen_ids.add(id(value))
    parts = _list_parts(value)
    # a nested tensor has no sizes of its own
    shown = f"nested {type(value).__name__}" if isinstance(value, torch.Tensor) else value
    yield name, shown, parts is not None
    for part, inner in parts or ():
        yield from _open(inner, name + part, seen_ids)


def _list_parts(value: Any) -> list[tuple[str, Any]] | None:
    """Return the parts of an object, each with the text to append to the object's name; None if
    they are not known.
    """
    if isinstance(value, torch.Tensor):
        return [(f"[{place}]", inner) for place, inner in enumerate(value.unbind())]
    if isinstance(value, _BY_TEXT):
        return [(" as text", str(value))]
    if isinstance(value, Mapping):
        return [(f"[{key!r:.60}]", inner) for key, inner in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"[{place}]", inner) for place, inner in enumerate(value)]
    if isinstance(value, Set):
        return [(f"[{place}]", inner) for place, inner in enumerate(sorted(value, key=repr))]
    if type(value).__module__ == "numpy":
        return _open_array(value)
    return None if isinstance(value, _CODE) else _list_attributes(value)


def _open_array(value: Any) -> list[tuple[str, Any]] | None:
    """Return a NumPy array or number as a tensor; None for another object of NumPy, and for an
    array of a type that PyTorch has not.
    """
    try:
        return [(" as a tensor", torch.as_tensor(value))]
    except (TypeError, ValueError, RuntimeError):
        return None


def _list_attributes(value: Any) -> list[tuple[str, Any]] | None:
    """Return the attributes of an object. Of an object of a library, only those that are not plain
    values, because it may count or keep what the two sides need not share.
    """
    slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())]
    own = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    own |= getattr(value, "__dict__", {})
    if isinstance(value, torch.nn.Module):
        own = dict([*value.named_parameters(), *value.named_buffers()])
    elif not user_lines.is_users_class(type(value)):
        own = {name: inner for name, inner in own.items()
               if not isinstance(inner, (*SIMPLE, *_CODE))}  # fmt: skip
    return [(f".{name}", inner) for name, inner in own.items()] or None
