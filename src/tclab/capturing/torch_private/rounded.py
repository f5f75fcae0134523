"""Follow through operators the relative precision in which each element was rounded.

It is one number if all elements have the same, else a tensor of their shape: after a ``cat`` of
boxes in bfloat16 and scores in float32, the scores are as exact as before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch.utils._pytree import tree_map

from tclab.capturing.torch_private import rounding

#: The relative precision of each element of a tensor, or the one of all elements.
Rounded: TypeAlias = float | torch.Tensor

#: Overloads that only move elements, so that they move the elements' precision in the same way.
_MOVING_NAMES = (
    "cat stack where.self index_put slice_scatter select_scatter scatter.src copy clone _to_copy "
    "index.Tensor index_select gather flip roll repeat take masked_select "
)
_MOVING = frozenset(_MOVING_NAMES.split())


def largest(rounded: Rounded) -> float:
    """Return the coarsest precision of all elements."""
    if isinstance(rounded, torch.Tensor):
        return float(rounded.max()) if rounded.numel() else 0.0
    return rounded


def coarser(left: Rounded, right: Rounded) -> Rounded:
    """Return the coarser precision for each element."""
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        return torch.maximum(left, right)
    if isinstance(left, torch.Tensor):
        return left.clamp(min=largest(right))
    return right.clamp(min=left) if isinstance(right, torch.Tensor) else max(left, right)


def of_results(
    func: Any,
    arguments: tuple[Any, Any],
    views: bool,
    find: Callable[[torch.Tensor], Rounded],
) -> list[Rounded]:
    """Return the precision of the arguments' elements where they reach the results of an operator:
    one for all results, or one for each. `find` returns that of an argument.
    """
    tensors = rounding.inexact_tensors(arguments)
    known = [find(each) for each in tensors]
    coarsest = max(map(largest, known), default=0.0)
    moves = views or _is_moving(func, arguments[0])
    uneven = any(isinstance(each, torch.Tensor) for each in known)
    if not uneven and not (moves and len(set(known)) > 1):
        return [coarsest]
    try:
        if moves:
            args, kwargs = tree_map(lambda each: _spread(each, find), arguments)
            found = rounding.inexact_tensors(func(*args, **kwargs))
            return [_simplify(each) for each in found] or [coarsest]
        if torch.Tag.pointwise in func.tags:
            spread = (_spread(each, find) for each in tensors)
            return [_simplify(functools.reduce(torch.maximum, spread))]
    except (RuntimeError, NotImplementedError):  # a view that the precision's memory has not
        pass
    return [coarsest]


def _is_moving(func: Any, args: tuple[Any, ...]) -> bool:
    name, overload = rounding.operator_name(func), func._overloadname
    known = name in _MOVING or f"{name}.{overload}" in _MOVING
    return known and rounding.is_exact(func, args)


def _spread(value: Any, find: Callable[[torch.Tensor], Rounded]) -> Any:
    """Return a tensor's precision as a tensor; another value as it is."""
    if not rounding.is_inexact(value):
        return value
    found = find(value)
    if isinstance(found, torch.Tensor):
        return found.clone()  # an operator in place writes to it
    real = value.real if value.is_complex() else value
    return torch.full_like(real, found, dtype=torch.float64)


def _simplify(rounded: torch.Tensor) -> Rounded:
    """Return one number if all elements have the same precision."""
    if not rounded.numel():
        return 0.0
    low, high = map(float, rounded.aminmax())
    return high if low == high else rounded.clone()


class Written:
    """What calls wrote to the memory of tensors: the precision of each element, by the address of
    the storage. The other views of this memory have these values, too.
    """

    def __init__(self) -> None:
        self.storages: dict[int, Rounded] = {}

    def forget(self, tensor: torch.Tensor) -> None:
        """Forget what was written to memory that is new again."""
        self.storages.pop(storage_address(tensor), None)

    def add(self, tensor: torch.Tensor, rounded: Rounded) -> None:
        """Note that a tensor's elements were written with this precision."""
        at = storage_address(tensor)
        before = self.storages.get(at, 0.0)
        size = tensor.untyped_storage().nbytes() // tensor.dtype.itemsize if at else 0
        even = not isinstance(before, torch.Tensor) and not isinstance(rounded, torch.Tensor)
        if even and (tensor.numel() >= size or largest(rounded) <= largest(before)):
            self.storages[at] = coarser(before, rounded)
            return
        if not isinstance(before, torch.Tensor):
            before = torch.full((size,), before, dtype=torch.float64)
        part = _part(before, tensor)
        part.copy_(torch.as_tensor(coarser(part, rounded)))
        self.storages[at] = before

    def find(self, tensor: torch.Tensor) -> Rounded:
        """Return the precision of what was written to a tensor's memory."""
        found = self.storages.get(storage_address(tensor), 0.0)
        if not isinstance(found, torch.Tensor):
            return found
        try:
            return _simplify(_part(found, tensor))
        except RuntimeError:  # its elements have another size
            return largest(found)


def _part(flat: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    return flat.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def storage_address(tensor: torch.Tensor) -> int:
    """Return the address of a tensor's storage, or 0 for a tensor without one."""
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):
        return 0
