"""The engine in Python against PyTorch's own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  the field's own name
from torch import nn

from tclab.capturing.target.autograd import run_backward
from tclab.errors import CaptureError


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


def net() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    torch.manual_seed(0)
    m = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))
    y = m(torch.randn(5, 8))
    loss = F.cross_entropy(y, torch.arange(5) % 4) + (y * y).mean() + (y[0] * m[0].bias.sum()).sum()
    return [loss], list(m.parameters())


def shared() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    x = torch.linspace(0, 1, 6, requires_grad=True)
    y = Square.apply(x).reshape(2, 3)
    return [y.sum(0), (y * x[:3]).exp()], [x, y]


def half() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    x = torch.linspace(0, 1, 6, dtype=torch.bfloat16, requires_grad=True)
    return [(x.float() * 2).relu().expand(3, 6)], [x]


@pytest.mark.parametrize("make", [net, shared, half])
def test_gradients_are_bit_for_bit_those_of_the_engine(make: Any) -> None:
    outputs, inputs = make()
    gradients = [torch.randn_like(o) for o in outputs]
    expected = torch.autograd.grad(outputs, inputs, gradients, retain_graph=True)
    found = run_backward(outputs, gradients, True, False, inputs, True, False)
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))


def test_an_input_that_was_not_used_has_no_gradient() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    found = run_backward([x * 2], [torch.ones(2)], None, False, [x, y], True, False)
    assert found[0] is not None
    assert found[1] is None
    with pytest.raises(RuntimeError, match="not have been used"):
        run_backward([x * 2], [torch.ones(2)], None, False, [x, y], False, False)


def test_accumulating_is_refused() -> None:
    with pytest.raises(CaptureError, match="accumulates"):
        run_backward([], [], None, False, [], True, True)
