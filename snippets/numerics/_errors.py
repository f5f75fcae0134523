"""Errors against the same calculation in float64, which stands for the exact result."""

from __future__ import annotations

from collections.abc import Callable

import torch


def error(result: torch.Tensor, exact: torch.Tensor) -> float:
    """Root of the mean squared error, as a part of the root of the exact values' mean square."""
    exact = exact.double()
    return ((result.double() - exact).square().mean() / exact.square().mean()).sqrt().item()


def differ(one: torch.Tensor, other: torch.Tensor) -> float:
    """The part of the elements whose bits are not the same, from 0 to 1."""
    return (one != other).double().mean().item()


def compiled(fn: Callable[..., object], **options: object) -> Callable[..., object]:
    """`fn` compiled afresh by Inductor with these options."""
    torch._dynamo.reset()
    return torch.compile(fn, options=options)
