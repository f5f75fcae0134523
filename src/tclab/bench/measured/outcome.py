"""What a call came to: its tensors, their bytes, and how far they are from the exact ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors in nested tuples, lists and dictionaries."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return []
    return [tensor for part in value for tensor in tensors(part)]


def nbytes(value: Any) -> int:
    """Bytes of the distinct tensors in something nested."""
    return sum({t.data_ptr(): t.nbytes for t in tensors(value)}.values())


def error(result: Any, exact: Any) -> float:
    """‖result − exact‖ / ‖exact‖ over all floating tensors together; nan if one has a nan.

    Tensors of whole numbers have to be equal: a difference makes the error infinite.
    """
    off, scale = 0.0, 0.0
    for one, reference in zip(tensors(result), tensors(exact), strict=True):
        if not one.is_floating_point():
            if not torch.equal(one, reference.to(one.dtype)):
                return float("inf")
            continue
        double = reference.double()
        off += (one.double() - double).square().sum().item()
        scale += double.square().sum().item()
    return math.sqrt(off / scale) if scale else math.sqrt(off)
