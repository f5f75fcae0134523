"""Run the backward pass of a function's result."""

from __future__ import annotations

import torch

from tclab.capturing.outputs import output_tensors
from tclab.errors import NoGradient


def run_backward(result: object) -> None:
    """Call ``.backward()`` on the sum of all tensors in `result` that require grad. Raises
    NoGradient if no tensor requires grad.
    """
    tensors = [each for each in output_tensors(result) if each.requires_grad]
    if not tensors:
        raise NoGradient(
            "tclab.capture",
            "backward=True, but nothing the function returned requires grad",
            "pass a floating-point tensor with requires_grad=True, or leave backward out",
        )
    torch.autograd.backward(tensors, [torch.ones_like(each) for each in tensors])
