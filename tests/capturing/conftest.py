"""Capture one small training step once for all tests of this folder."""

from __future__ import annotations

import pytest
import torch

import tclab


def softmax_of_product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Compute [8, 8] @ [8, 8] → relu → [8] → softmax."""
    y = (x @ w).relu()
    y = y.sum(-1)
    return torch.softmax(y, 0) * 2 + 1


@pytest.fixture(scope="session")
def training() -> tclab.Capture:
    """Capture forward and backward of `softmax_of_product`, compiled by Inductor."""
    x = torch.randn(8, 8, requires_grad=True)
    return tclab.capture(softmax_of_product, backward=True)(x, torch.randn(8, 8))


@pytest.fixture(scope="session")
def lines() -> dict[str, int]:
    """Return the line numbers in this file of the steps of `softmax_of_product`."""
    first = softmax_of_product.__code__.co_firstlineno
    return {"relu": first + 2, "sum": first + 3, "softmax": first + 4}
