"""The backward of whatever a function returned."""

from __future__ import annotations

import torch

from tclab.capturing.torch_private import compiler
from tclab.errors import NoGradient


def run_backward(result: object) -> None:
    """``.backward()`` on the sum of every tensor in `result` that requires grad; NoGradient
    where none does.
    """
    wanted = [t for t in compiler.leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    if not wanted:
        raise NoGradient(
            "tclab.capture",
            "backward=True, but nothing the function returned requires grad",
            "pass a floating-point tensor with requires_grad=True, or leave backward out",
        )
    torch.autograd.backward(wanted, [torch.ones_like(t) for t in wanted])
