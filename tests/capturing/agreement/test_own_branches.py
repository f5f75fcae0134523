"""Code that asks whether it is compiled, and then does something else."""

from __future__ import annotations

import torch
from torch import nn
from torch.compiler import is_compiling, is_dynamo_compiling

from tclab.model import DIFFERS, EQUAL
from tests.capturing.agreement.planting import compared, planted


class Snapshot(nn.Module):
    """Keeps its last input in eager only."""

    def __init__(self) -> None:
        super().__init__()
        self.last: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last = None if is_compiling() else x.clone()
        return x * 2


def doubles(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if is_dynamo_compiling() else x * 3


def test_an_attribute_that_the_code_sets_otherwise_when_compiled_is_named() -> None:
    found = compared(Snapshot(), (torch.ones(3),))
    assert found.verdict == EQUAL
    assert found.reason.startswith("but for last, which the code itself leaves otherwise where ")
    assert "torch.compiler.is_compiling() is True: " in found.reason
    assert found.reason.endswith("test_own_branches.py:21")


def test_a_result_that_the_code_makes_otherwise_when_compiled_differs_by_its_own_line() -> None:
    found = compared(doubles, (torch.ones(3),))
    assert found.verdict == DIFFERS
    assert found.line is not None and found.line.function == "doubles"
    assert "first in the code itself, which asks torch.compiler.is_compiling()" in str(found)
    assert "is as the code says" in found.next_step
    assert doubles(torch.ones(1)).item() == 3


def test_another_difference_beside_it_is_the_compilers() -> None:
    found = planted(doubles, lambda x: x * 4, torch.ones(3))
    assert found.verdict == DIFFERS and "itself" not in str(found)
