"""A function as a subject, forward or with its backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tclab.catalog.subject import Compile, Subject, dtype_on, in_float64

Inputs = Callable[[int], tuple[Any, ...]]


def seeded(of: Callable[[], tuple[Any, ...]]) -> Inputs:
    """Inputs that are the same for the same seed."""

    def inputs(seed: int) -> tuple[Any, ...]:
        torch.manual_seed(seed)
        return of()

    return inputs


def forward(
    fn: Callable[..., Any], of: Callable[[], tuple[Any, ...]], device: str, **more: Any
) -> Subject:
    """The function alone, without gradients."""
    return Subject(
        make=lambda compile_: compile_(fn),
        inputs=seeded(of),
        exact=lambda *arguments: fn(*in_float64(arguments)),
        floor=1e-2 if device == "cuda" else 1e-5,
        **more,
    )


def both_ways(fn: Callable[..., Any], of: Callable[[], tuple[Any, ...]], device: str) -> Subject:
    """The function and its gradients; the last argument is the gradient of its result."""

    def make(compile_: Compile) -> Callable[..., Any]:
        forward = compile_(fn)

        def run(*arguments: Any) -> Any:
            asked = [a for a in arguments[:-1] if a.requires_grad]
            return torch.autograd.grad(forward(*arguments[:-1]), asked, arguments[-1])

        return run

    def exact(*arguments: Any) -> Any:
        return make(lambda f: f)(*in_float64(arguments))

    floor = 1e-2 if device == "cuda" else 1e-5
    return Subject(make=make, inputs=seeded(of), exact=exact, floor=floor, grad=True)


def random(device: str, *shape: int, grad: bool = False) -> torch.Tensor:
    """Normal numbers of the dtype that is measured on the device."""
    return torch.randn(*shape, device=device, dtype=dtype_on(device), requires_grad=grad)
