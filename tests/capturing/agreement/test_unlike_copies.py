"""Objects whose copy is not like them: no verdict on the compile comes from such a copy."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from tclab.capturing.agreement import Comparison, values
from tclab.model import DIFFERS, EQUAL, UNKNOWN
from tests.capturing.agreement.planting import compared, planted


class Momentum(torch.optim.Optimizer):
    """Keeps attributes of its own, which PyTorch's copy of an optimizer leaves out."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": 0.1})
        self.moments = {p: torch.zeros_like(p) for p in self.param_groups[0]["params"]}

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for p in self.param_groups[0]["params"]:
            self.moments[p].mul_(0.9).add_(p.grad)
            p.sub_(0.1 * self.moments[p])


def make_optimizer() -> Momentum:
    weight = nn.Parameter(torch.ones(3))
    weight.grad = torch.ones(3)
    return Momentum([weight])


def test_an_optimizers_own_attributes_are_copied_with_its_parameters() -> None:
    optimizer = make_optimizer()
    with pytest.raises(AttributeError):
        copy.deepcopy(optimizer).step()
    copied = values.deep_copy(optimizer)
    copied.step()
    (weight,) = copied.moments
    assert weight is copied.param_groups[0]["params"][0]
    assert copied.moments[weight].tolist() == [1.0] * 3
    assert [each.tolist() for each in optimizer.moments.values()] == [[0.0] * 3]


def test_an_optimizers_own_attributes_are_compared() -> None:
    assert str(compared(lambda o: o.step(), (make_optimizer(),))) == "equal to eager, to the bit"

    def skips_the_moments(o: Momentum) -> None:
        weight = o.param_groups[0]["params"][0]
        weight.data.sub_(0.1 * weight.grad)

    found = planted(Momentum.step, skips_the_moments, make_optimizer())
    assert [each.where for each in found.differences] == ["the argument self.moments[#0]"]


class Handle:
    """Loses `factor` in a copy."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __deepcopy__(self, memo: Any) -> Handle:
        return object.__new__(Handle)


class Rescaled(Handle):
    """Has another `factor` in a copy."""

    def __deepcopy__(self, memo: Any) -> Rescaled:
        return Rescaled(1.0)


def scale(handle: Handle, x: torch.Tensor) -> torch.Tensor:
    return x * handle.factor


@pytest.mark.parametrize(
    ("handle", "what"),
    [
        (Handle(2.0), "it raises AttributeError: 'Handle' object has no attribute 'factor'"),
        (Rescaled(2.0), "output 0 is 1 with the copy, 2 with the original"),
    ],
)
def test_a_copy_that_behaves_otherwise_gives_no_verdict(handle: Handle, what: str) -> None:
    found = compared(scale, (handle, torch.ones(3)))
    assert str(found) == (
        "not compared with eager: a copy of handle, with which eager is called, does not behave as "
        f"the original: {what}"
    )
    assert found.verdict == UNKNOWN


def test_two_calls_of_copies_that_both_raise_are_not_equal() -> None:
    found = Comparison.begin(scale, [((Handle(2.0), torch.ones(3)), {})], backward=False)
    assert isinstance(found, Comparison)
    assert found.judge_new_compile({"backend": "eager"}).verdict == UNKNOWN


def test_what_the_original_raises_too_is_judged() -> None:
    def refuses(x: torch.Tensor) -> torch.Tensor:
        raise ValueError

    assert planted(refuses, refuses, torch.ones(3)).verdict == EQUAL
    assert planted(refuses, lambda x: x, torch.ones(3)).verdict == DIFFERS
