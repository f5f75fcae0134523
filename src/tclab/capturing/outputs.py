"""Open the result of a call: the tensors and plain values that it contains, each with a name.

PyTorch flattens the containers that it knows. Data classes, objects, sets, NumPy arrays and
subclasses of dict are opened here, because a verdict on a result must not leave out what is in it.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Mapping, Set
from enum import Enum
from types import FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import torch

from tclab.capturing.torch_private import compiler
from tclab.text import user_lines

SIMPLE = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.Size)
#: Objects that are equal if their texts are.
_BY_TEXT = (range, slice, Enum)
_WITH_STATE = (torch.Generator, torch.optim.lr_scheduler.LRScheduler)
_CODE = (type, FunctionType, MethodType, ModuleType)
PLAIN_TENSORS = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


def open_outputs(result: object) -> Iterator[tuple[str, Any, bool]]:
    """Yield (name, value, opened) for each value in a result, such as ``output 0`` and ``output
    0.loss``: tensors, plain values, and the objects that contain them. `opened` is False for an
    object whose parts are not known, such as a generator.
    """
    for place, leaf in enumerate(compiler.nested_leaves(result)):
        yield from _open(leaf, f"output {place}", set())


def describe_structure(result: object) -> str:
    """Return the containers of a result, with a star for each value: ``(*, {'a': *})``."""
    try:
        return repr(compiler.map_leaves(lambda _: _Star(), result))
    except Exception:  # a registered container that takes no star
        return compiler.describe_containers(result)


class _Star:
    def __repr__(self) -> str:
        return "*"


def output_tensors(result: object) -> list[torch.Tensor]:
    """Return the tensors in a result, in order."""
    return [value for _, value, _ in open_outputs(result) if isinstance(value, torch.Tensor)]


def has_state(value: object) -> bool:
    """Return whether a call may change this object, though its class is a library's."""
    numpy = sys.modules.get("numpy")
    array = numpy is not None and isinstance(value, numpy.ndarray)
    return array or isinstance(value, (*_WITH_STATE, Set, SimpleNamespace))


def _open(value: Any, name: str, seen_ids: set[int]) -> Iterator[tuple[str, Any, bool]]:
    if isinstance(value, SIMPLE):
        yield name, value, True
        return
    first = id(value) not in seen_ids
    seen_ids.add(id(value))
    if isinstance(value, torch.Tensor) and not value.is_nested:
        yield name, value, True
        for part, inner in list_tensor_attributes(value) if first else ():
            yield from _open(inner, name + part, seen_ids)
        return
    if not first:
        return
    parts = list_parts(value)
    # a nested tensor has no sizes of its own
    shown = f"nested {type(value).__name__}" if isinstance(value, torch.Tensor) else value
    yield name, shown, parts is not None
    for part, inner in parts or ():
        yield from _open(inner, name + part, seen_ids)


def list_parts(value: Any) -> list[tuple[str, Any]] | None:
    """Return the parts of an object, each with the text to append to the object's name; None if
    they are not known.
    """
    if isinstance(value, torch.Tensor):
        return [(f"[{place}]", inner) for place, inner in enumerate(value.unbind())]
    if isinstance(value, _BY_TEXT):
        return [(" as text", str(value))]
    if isinstance(value, _WITH_STATE):
        return _list_state(value)
    items = list_items(value)
    if isinstance(value, _CODE) or (items is None and type(value).__module__ == "builtins"):
        return None
    attributes = _list_attributes(value)
    return None if items is None and not attributes else [*(items or ()), *attributes]


def list_items(value: Any) -> list[tuple[str, Any]] | None:
    """Return the items of a container or the values of an array; None for another object."""
    numpy = sys.modules.get("numpy")
    if isinstance(value, Mapping):
        return [(f"[{key!r}]" if isinstance(key, SIMPLE) else f"[#{place}]", inner)
                for place, (key, inner) in enumerate(value.items())]  # fmt: skip
    if isinstance(value, (list, tuple, deque)):
        return [(f"[{place}]", inner) for place, inner in enumerate(value)]
    if isinstance(value, Set):
        return [(f"[{place}]", inner) for place, inner in enumerate(sorted(value, key=repr))]
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return _open_array(numpy.asarray(value))
    return None


def _list_state(value: Any) -> list[tuple[str, Any]]:
    """Return the state of a random generator or of a schedule, which have no plain attributes."""
    if isinstance(value, torch.Generator):
        return [(" as a tensor", value.get_state())]
    return [(f".{name}", inner) for name, inner in value.state_dict().items()]


def _open_array(value: Any) -> list[tuple[str, Any]] | None:
    """Return a NumPy array or number as a tensor; None for another object of NumPy, and for an
    array of a type that PyTorch has not.
    """
    try:
        return [(" as a tensor", torch.as_tensor(value))]
    except (TypeError, ValueError, RuntimeError):
        return None


def _list_attributes(value: Any) -> list[tuple[str, Any]]:
    """Return the attributes of an object. Of an object of a library, only those that are not plain
    values, because it may count or keep what the two sides need not share.
    """
    if isinstance(value, torch.nn.Module):
        named = [*value.named_parameters(), *value.named_buffers()]
        return [(f".{name}", inner) for name, inner in named]
    own = {name: getattr(value, name) for name in list_slots(type(value)) if hasattr(value, name)}
    own |= getattr(value, "__dict__", {})
    if not isinstance(value, SimpleNamespace) and not user_lines.is_users_class(type(value)):
        own = {name: inner for name, inner in own.items()
               if not isinstance(inner, (*SIMPLE, *_CODE))}  # fmt: skip
    return [(f".{name}", inner) for name, inner in own.items()]


def list_tensor_attributes(tensor: torch.Tensor) -> list[tuple[str, Any]]:
    """Return the attributes that the user's code has set on a tensor of no other class, but for
    functions. Names with ``_dynamo`` are the compiler's.
    """
    own = vars(tensor) if type(tensor) in PLAIN_TENSORS else {}
    return [(f".{name}", inner) for name, inner in own.items()
            if not name.startswith("_dynamo") and not isinstance(inner, _CODE)]  # fmt: skip


def list_slots(cls: type) -> Iterator[str]:
    """Yield the names of the slots of a class; a private one is stored with the class's name."""
    for each in cls.__mro__:
        slots = getattr(each, "__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            private = name.startswith("__") and not name.endswith("__")
            yield f"_{each.__name__.lstrip('_')}{name}" if private else name
