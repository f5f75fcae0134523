"""How a PyTorch answers a condition on sizes that are symbols.

For a symbol with a hint each question becomes a guard. For one without, it fails until 2.14, and
from 2.15 on "not known" counts as no.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import (
    guard_or_false,
    guard_or_true,
)

Condition = Any  # bool or torch.SymBool
__all__ = ["FROM_2_15", "UNTIL_2_12", "UNTIL_2_14", "Conditions", "guard_or_false", "guard_or_true"]


@dataclass(frozen=True)
class Conditions:
    """Whether a condition surely holds, surely does not, and whether a mask's size fits another."""

    sure: Callable[[Condition], bool]
    surely_not: Callable[[Condition], bool]
    mask_fits: Callable[[Any, Any], bool]


def _not(condition: Condition) -> bool:
    return not condition


def _known_not(condition: Condition) -> bool:
    return guard_or_false(torch.sym_not(condition))


def _equal_or_one(size: Any, wanted: Any) -> bool:
    return bool(size == wanted) or bool(size == 1)


def _equal_or_plain_one(size: Any, wanted: Any) -> bool:
    return bool(size == wanted) or _is_one(size)


def _surely_equal_or_one(size: Any, wanted: Any) -> bool:
    return guard_or_false(size == wanted) or _is_one(size)


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


UNTIL_2_12 = Conditions(bool, _not, _equal_or_one)
UNTIL_2_14 = Conditions(bool, _not, _equal_or_plain_one)
FROM_2_15 = Conditions(guard_or_false, _known_not, _surely_equal_or_one)
