"""The engine in Python against PyTorch's own."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  the field's own name
from torch import nn

import tclab
from tclab.capturing.target import autograd
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


def chunks() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    x = torch.linspace(0, 1, 6, requires_grad=True)
    return [*x.sin().chunk(3)], [x]


def moments() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    x = torch.linspace(0, 1, 6, requires_grad=True)
    variance, mean = torch.var_mean(x.exp(), 0)
    return [mean, variance * mean, variance], [x]


def factors() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    torch.manual_seed(0)
    x = torch.randn(4, 4, requires_grad=True)
    return [*torch.linalg.qr(x), *torch.linalg.eigh(x @ x.T)], [x]


def one_output_twice() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    x = torch.linspace(0, 1, 6, requires_grad=True)
    y = x.exp()
    return [y, y], [x]


@pytest.mark.parametrize("make", [net, shared, half, chunks, moments, factors, one_output_twice])
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


def test_a_node_that_never_runs_is_an_error_and_no_missing_gradient(monkeypatch: Any) -> None:
    count = autograd._count_edges

    def count_one_too_many(*of: Any) -> dict[Any, int]:
        return defaultdict(int, {node: edges + 1 for node, edges in count(*of).items()})

    monkeypatch.setattr(autograd, "_count_edges", count_one_too_many)
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(CaptureError, match="left an operator out"):
        run_backward([x.exp().sin()], [torch.ones(2)], None, False, [x], True, False)


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


def returns_unbound(x):
    return x.sin().unbind()


def returns_moments(x):
    return torch.var_mean(x.sin(), 0)


def returns_factors(x):
    return torch.linalg.qr(x)


def returns_dictionary(x):
    return dict(zip("ab", x.sin().split(2)))


def returns_named_tuple(x):
    return Pair(*x.sin().chunk(2))


def returns_views_and_an_input(x):
    y = x.sin()
    return y[:2], y.view(-1), x, x.view(-1)


@pytest.mark.parametrize(
    "function",
    [returns_unbound, returns_moments, returns_factors, returns_dictionary, returns_named_tuple,
     returns_views_and_an_input],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_the_backward_of_several_outputs_is_compiled_for_a_target(function: Any) -> None:
    x = torch.randn(4, 4, requires_grad=True)
    c = tclab.capture(function, target="h200", backward=True)(x)
    assert not c.gaps and "backward" in {kernel.direction for kernel in c.kernels}


def test_an_output_on_the_cpu_is_differentiated_by_a_tensor_of_the_target() -> None:
    def to_host(x: torch.Tensor) -> torch.Tensor:
        return x.sin().to(device="cpu")

    x = torch.randn(64, requires_grad=True)
    c = tclab.capture(to_host, target="h200", backward=True)(x)
    assert ["cos" in text for text in c.wrapper_code] == [False, True]
