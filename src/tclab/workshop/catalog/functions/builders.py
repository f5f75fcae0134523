"""Make a subject of a function: forward only, or with its backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tclab.workshop.catalog.subject import Compile, Subject, convert_to_float64, inference_dtype

Inputs = Callable[[int], tuple[Any, ...]]


def seed_inputs(make: Callable[[], tuple[Any, ...]]) -> Inputs:
    """Return a function that makes inputs from a seed. Equal seeds give equal inputs."""

    def inputs(seed: int) -> tuple[Any, ...]:
        torch.manual_seed(seed)
        return make()

    return inputs


def forward(
    fn: Callable[..., Any], make_inputs: Callable[[], tuple[Any, ...]], device: str, **fields: Any
) -> Subject:
    """Return a subject that calls the function without gradients. `fields` are further fields of
    the Subject.
    """
    return Subject(
        make=lambda compile_: compile_(fn),
        inputs=seed_inputs(make_inputs),
        exact=lambda *arguments: fn(*convert_to_float64(arguments)),
        floor=1e-2 if device == "cuda" else 1e-5,
        **fields,
    )


def forward_and_backward(
    fn: Callable[..., Any], make_inputs: Callable[[], tuple[Any, ...]], device: str
) -> Subject:
    """Return a subject that computes gradients; its last input is the result's gradient."""

    def make(compile_: Compile) -> Callable[..., Any]:
        forward = compile_(fn)

        def run(*arguments: Any) -> Any:
            leaves = [a for a in arguments[:-1] if a.requires_grad]
            return torch.autograd.grad(forward(*arguments[:-1]), leaves, arguments[-1])

        return run

    def exact(*arguments: Any) -> Any:
        return make(lambda f: f)(*convert_to_float64(arguments))

    floor = 1e-2 if device == "cuda" else 1e-5
    return Subject(make=make, inputs=seed_inputs(make_inputs), exact=exact, floor=floor, grad=True)


def random(device: str, *shape: int, grad: bool = False) -> torch.Tensor:
    """Return normally distributed numbers in the device's inference dtype."""
    return torch.randn(*shape, device=device, dtype=inference_dtype(device), requires_grad=grad)
