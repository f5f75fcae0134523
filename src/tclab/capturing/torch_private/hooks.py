"""Count the hooks on tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.capturing.torch_private.private import Private

if TYPE_CHECKING:
    import torch

NAMES = (
    Private("torch", "Tensor._backward_hooks", "hooks on a gradient"),
    Private("torch", "Tensor._post_accumulate_grad_hooks", "hooks on a leaf's gradient"),
)


def count_tensor_hooks(tensor: torch.Tensor) -> int:
    """Return the number of hooks that run when the tensor's gradient is computed."""
    tables = tensor._backward_hooks, tensor._post_accumulate_grad_hooks
    return sum(len(table) for table in tables if table)
