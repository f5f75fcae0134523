"""What a builder returns: something to run, its inputs, and how to know that it is right."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from tclab.catalog.example import FunctionCall

#: Compiles a function or an optimizer's step; the identity for eager.
Compile = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True)
class Subject:
    """`make` builds what is called and timed, given how to compile; `inputs` the arguments of
    one call from a seed; `exact` computes what a call should give, in float64.

    `others` are further implementations, by mode: each a function of the same arguments.
    `floor` is the error below which nothing is said (rounding of the dtype). `weights` are bytes
    of parameters that a call reads. `outcome` turns a call into tensors to compare: for a
    training step the change of every parameter.
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
        """The function that is compiled, and its arguments in a call from seed 0; with `grad` the
        last input is no argument: its result's gradient, or what its loss compares with.
        """
        compiled: list[Callable[..., Any]] = []

        def note(fn: Callable[..., Any]) -> Callable[..., Any]:
            compiled.append(fn)
            return fn

        self.make(note)
        inputs = self.inputs(0)
        return compiled[0], inputs[:-1] if self.grad else inputs


def dtype_on(device: str) -> torch.dtype:
    """What inference computes in: bfloat16 on a GPU, float32 on a CPU."""
    return torch.bfloat16 if device == "cuda" else torch.float32


def eager(fn: Callable[..., Any]) -> Callable[..., Any]:
    """How eager compiles: not at all."""
    return fn


def in_float64(value: Any) -> Any:
    """The same with floating tensors as float64 that ask for gradients where they did."""
    if isinstance(value, (tuple, list)):
        return type(value)(in_float64(part) for part in value)
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    return value.detach().double().requires_grad_(value.requires_grad)


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
