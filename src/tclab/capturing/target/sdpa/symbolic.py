"""Evaluate conditions on symbolic sizes as each PyTorch does.

A condition on a symbol with a hint adds a guard. Until 2.14, a condition on a symbol without a hint
raises an error; from 2.15 on, it counts as false.
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
__all__ = [
    "FROM_2_15",
    "UNTIL_2_12",
    "UNTIL_2_14",
    "ConditionEvaluator",
    "guard_or_false",
    "guard_or_true",
]


@dataclass(frozen=True)
class ConditionEvaluator:
    """Evaluates conditions as one version of PyTorch does. `surely_holds` and `surely_fails` return
    whether a condition is known to be true, or known to be false.

    `mask_fits` returns whether a size of the mask broadcasts. Its arguments are this size and the
    size that the mask must have if this size is not 1.
    """

    surely_holds: Callable[[Condition], bool]
    surely_fails: Callable[[Condition], bool]
    mask_fits: Callable[[Any, Any], bool]


def _is_false(condition: Condition) -> bool:
    return not condition


def _is_known_false(condition: Condition) -> bool:
    return guard_or_false(torch.sym_not(condition))


def _equal_or_one(size: Any, required: Any) -> bool:
    return bool(size == required) or bool(size == 1)


def _equal_or_plain_one(size: Any, required: Any) -> bool:
    return bool(size == required) or _is_one(size)


def _surely_equal_or_one(size: Any, required: Any) -> bool:
    return guard_or_false(size == required) or _is_one(size)


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


UNTIL_2_12 = ConditionEvaluator(bool, _is_false, _equal_or_one)
UNTIL_2_14 = ConditionEvaluator(bool, _is_false, _equal_or_plain_one)
FROM_2_15 = ConditionEvaluator(guard_or_false, _is_known_false, _surely_equal_or_one)
