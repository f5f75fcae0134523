"""Define the inputs of the attention rules: the call, the machine, and PyTorch's own switches.

The fields of `Call` are those of ``sdp::sdp_params`` (ATen/native/transformers/sdp_utils_cpp.h).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from tclab.capturing.target.sdpa.symbolic import UNTIL_2_12, ConditionEvaluator

#: The backends with PyTorch's numbers (ATen/SDPBackend.h).
NUMBERS = {"math": 0, "flash": 1, "efficient": 2, "cudnn": 3, "overrideable": 4}
BACKENDS = tuple(NUMBERS)

#: The order of backends before the first call (ATen/Context.h: sdp_priority_order).
DEFAULT_ORDER = ("flash", "efficient", "math", "cudnn", "overrideable")

#: The order of backends after the first call if cuDNN is preferred (sdp_utils.cpp: priority_order).
CUDNN_FIRST = ("cudnn", "flash", "efficient", "math", "overrideable")


@dataclass(frozen=True)
class Call:
    """One call of attention: tensors [batch, heads, positions, head size], real or fake.

    `evaluator` evaluates conditions on symbolic sizes and adds the guards that PyTorch adds.
    """

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    mask: torch.Tensor | None = None
    dropout: float = 0.0
    causal: bool = False
    gqa: bool = False
    evaluator: ConditionEvaluator = UNTIL_2_12

    @property
    def inputs(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Query, key and value."""
        return self.query, self.key, self.value

    @property
    def needs_grad(self) -> bool:
        """Whether an input requires a gradient (sdp_utils_cpp.h: input_requires_grad)."""
        return torch.is_grad_enabled() and any(t.requires_grad for t in self.inputs)

    def surely_holds(self, condition: Any) -> bool:
        """Return whether a condition is known to be true."""
        return self.evaluator.surely_holds(condition)

    def surely_fails(self, condition: Any) -> bool:
        """Return whether a condition is known to be false."""
        return self.evaluator.surely_fails(condition)

    def all_hold(self, *conditions: Callable[[], Any]) -> bool:
        """Return whether all conditions are known to be true, evaluated in order like ``&&`` in
        C++.
        """
        return all(self.surely_holds(condition()) for condition in conditions)

    def none_holds(self, *conditions: Callable[[], Any]) -> bool:
        """Return whether all conditions are known to be false, evaluated in order like ``||`` in
        C++.
        """
        return all(self.surely_fails(condition()) for condition in conditions)

    @property
    def batched(self) -> Call:
        """The call with a batch of one if its inputs have three dimensions (sdp_utils_cpp.h:
        normalize_unbatched_input).
        """
        if any(t.dim() != 3 for t in self.inputs):
            return self
        query, key, value = (t.unsqueeze(0) for t in self.inputs)
        mask = self.mask
        while mask is not None and mask.dim() < 4:
            mask = mask.unsqueeze(0)
        return replace(self, query=query, key=key, value=value, mask=mask)


@dataclass(frozen=True)
class Machine:
    """The GPU, cuDNN, and the settings of PyTorch.

    `cudnn` is the number that ``cudnnGetVersion`` returns (91900 for 9.19.0), 0 without cuDNN.
    `enabled` are the backends that the user has not switched off. `order` is the order of backends
    that the user set; empty if the user set none.
    """

    capability: tuple[int, int]
    cudnn: int
    enabled: frozenset[str] = frozenset(BACKENDS)
    order: tuple[str, ...] = ()
    deterministic: bool = False

    @property
    def major(self) -> int:
        """The first number of the compute capability."""
        return self.capability[0]

    def is_between(self, low: tuple[int, int], high: tuple[int, int]) -> bool:
        """Return whether the compute capability is in a range, ends included (sdp_utils.cpp:
        check_sm_version).
        """
        return low <= self.capability <= high
