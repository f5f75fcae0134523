"""Define a subject: a function to time, its inputs, and its exact result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from tclab.workshop.catalog.example import FunctionCall

#: A function that compiles a function; for eager it is the identity.
Compile = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True)
class Subject:
    """A function or model that can be timed and checked.

    `make` takes a function that compiles, and returns the callable to time. `inputs` takes a seed
    and returns the arguments of one call. `exact` computes the right result in float64.

    `others` are further implementations: mode → function of the same arguments. Errors below
    `floor` count as rounding. `weights` is the number of bytes of parameters that a call reads.
    `outcome` runs a call and returns the tensors to compare: for a training step the change of
    each parameter.
    """

    make: Callable[[Compile], Callable[..., Any]]
    inputs: Callable[[int], tuple[Any, ...]]
    exact: Callable[..., Any]
    floor: float = 1e-5
    weights: int = 0
    grad: bool = False
    outcome: Callable[[Callable[..., Any], tuple[Any, ...]], Any] | None = None
    others: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def call(self) -> FunctionCall:
        """Return the function that `make` compiles, and its arguments from seed 0.

        With `grad` the last input is not an argument, but the result's gradient or the target of
        the loss.
        """
        compiled: list[Callable[..., Any]] = []

        def collect(fn: Callable[..., Any]) -> Callable[..., Any]:
            compiled.append(fn)
            return fn

        self.make(collect)
        inputs = self.inputs(0)
        return compiled[0], inputs[:-1] if self.grad else inputs


def inference_dtype(device: str) -> torch.dtype:
    """Return the dtype of inference: bfloat16 on a GPU, float32 on a CPU."""
    return torch.bfloat16 if device == "cuda" else torch.float32


def eager(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function itself, because eager mode compiles nothing."""
    return fn


def convert_to_float64(value: Any) -> Any:
    """Return nested values with floating tensors as float64; `requires_grad` stays."""
    if isinstance(value, (tuple, list)):
        return type(value)(convert_to_float64(part) for part in value)
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    return value.detach().double().requires_grad_(value.requires_grad)


def collect_tensors(value: Any) -> list[torch.Tensor]:
    """Return the tensors in nested tuples, lists and dictionaries."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return []
    return [tensor for part in value for tensor in collect_tensors(part)]


def count_bytes(value: Any) -> int:
    """Return the bytes of the distinct tensors in nested values."""
    return sum({t.data_ptr(): t.nbytes for t in collect_tensors(value)}.values())


def relative_error(result: Any, exact: Any) -> float:
    """Return ‖result − exact‖ / ‖exact‖ over all floating tensors; nan if one has a nan.

    Integer tensors must be equal; a difference makes the error infinite.
    """
    off, scale = 0.0, 0.0
    for one, reference in zip(collect_tensors(result), collect_tensors(exact), strict=True):
        if not one.is_floating_point():
            if not torch.equal(one, reference.to(one.dtype)):
                return float("inf")
            continue
        double = reference.double()
        off += (one.double() - double).square().sum().item()
        scale += double.square().sum().item()
    return math.sqrt(off / scale) if scale else math.sqrt(off)
