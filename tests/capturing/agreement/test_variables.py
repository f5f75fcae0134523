"""What a call writes outside of its arguments: globals, and attributes of functions and classes."""

from __future__ import annotations

import copy
import enum
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from tclab.capturing.agreement.setups import Setup
from tclab.capturing.agreement.variables import Variable
from tclab.model import DIFFERS, EQUAL
from tests.capturing.agreement import planting
from tests.capturing.agreement.planting import compared, planted

X = torch.ones(3)


def adds(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def creates(x: torch.Tensor) -> torch.Tensor:
    global made
    made = x.sum()  # type: ignore[name-defined]
    return x + 1


def creates_otherwise(x: torch.Tensor) -> torch.Tensor:
    global made
    made = x.sum() * 2  # type: ignore[name-defined]
    return x + 1


def rebinds(x: torch.Tensor) -> torch.Tensor:
    global step
    step = creates
    return x + 1


step = adds


def counts(x: torch.Tensor) -> torch.Tensor:
    counts.calls += 1  # type: ignore[attr-defined]
    return x + 1


def counts_from_none(x: torch.Tensor) -> torch.Tensor:
    counts.calls = getattr(counts, "calls", 0) + 1  # type: ignore[attr-defined]
    return x + 1


class Kept:
    calls = 0
    seen: list[int] = []  # noqa: RUF012
    lock = [threading.Lock()]  # noqa: RUF012

    @classmethod
    def call(cls, x: torch.Tensor) -> torch.Tensor:
        Kept.calls += 1
        cls.seen.append(1)
        return x + 1


class Base(nn.Module):
    largest = torch.zeros(())


class Net(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        Base.largest = torch.maximum(Base.largest, x.max())
        return x + 1


def calls_a_module(x: torch.Tensor) -> torch.Tensor:
    planting.STEPS = 1  # type: ignore[attr-defined]
    return planting.compared and x + 1


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Each test starts from the same variables."""
    counts.calls = 0  # type: ignore[attr-defined]
    yield
    globals().pop("made", None)
    globals()["step"] = adds
    counts.calls = 0  # type: ignore[attr-defined]
    vars(planting).pop("STEPS", None)
    Kept.calls, Base.largest = 0, torch.zeros(())
    Kept.seen.clear()


@pytest.mark.parametrize(
    ("fn", "other", "where"),
    [
        (creates, adds, "the variable made"),
        (creates, creates_otherwise, "the variable made"),
        (rebinds, adds, "the variable step"),
        (counts, adds, "the variable counts.calls"),
        (Kept.call, adds, "the variable Kept.calls"),
        (Net(), adds, "the variable Base.largest"),
    ],
)
def test_what_only_one_side_writes_is_named(
    fn: Callable[..., Any], other: Callable[..., Any], where: str
) -> None:
    found = planted(fn, other, X)
    assert found.verdict == DIFFERS
    assert where in {each.where for each in found.differences}, found.differences


@pytest.mark.parametrize("fn", [creates, rebinds, counts, Kept.call, Net()])
def test_what_a_right_compile_writes_is_equal(fn: Callable[..., Any]) -> None:
    found = compared(fn, (X,), (X * 2,))
    assert str(found) == "equal to eager, to the bit"


def test_an_attribute_that_dynamo_does_not_see_again() -> None:
    """The second compiled call takes the attribute for missing, as the first found it."""
    del counts.calls  # type: ignore[attr-defined]
    found = compared(counts_from_none, (X,), (X,))
    assert (found.verdict, found.stage) == (DIFFERS, "Dynamo")
    (wrong,) = found.differences
    assert (wrong.where, wrong.eager, wrong.compiled) == ("the variable counts.calls", "2", "1")


def test_a_closure_variable_that_a_call_fills_is_compared() -> None:
    def make(factor: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
        if factor < 0:
            last = X

        def call(x: torch.Tensor) -> torch.Tensor:
            nonlocal last
            last = x * factor
            return x + 1

        return call, lambda: last

    fn, _ = make(2)
    assert planted(fn, adds, X).differences[0].where == "the variable last"
    assert compared(make(2)[0], (X,)).verdict == EQUAL


def test_variables_that_did_not_exist_are_gone_after_the_block() -> None:
    setup = Setup.from_function(creates, [((X,), {})]).copy()
    with setup.applied():
        creates(X)
    assert "made" not in globals()
    assert dict(setup.state())["the variable made"].item() == 3.0


def test_attributes_are_as_before_after_the_block_and_are_the_same_objects() -> None:
    seen = Kept.seen
    setup = Setup.from_function(Kept.call, [((X,), {})]).copy()
    with setup.applied():
        Kept.call(X)
    assert (Kept.calls, Kept.seen, Kept.seen is seen) == (0, [], True)
    assert dict(setup.state())["the variable Kept.calls"] == 1


class Color(enum.Enum):
    RED = 1


def test_what_cannot_be_copied_or_set_is_left_alone() -> None:
    def colored(x: torch.Tensor) -> torch.Tensor:
        return Kept.call(x) * Color.RED.value

    names = [each.name for each in Setup.from_function(colored, [((X,), {})]).variables]
    assert "Kept" in names and "Color" not in names
    assert vars(Variable("Kept", Kept).get()).keys() == {"calls", "seen"}
    assert planted(colored, colored, X).verdict == EQUAL


def test_a_large_container_is_not_copied_to_see_whether_it_can_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copied: list[Any] = []
    monkeypatch.setattr(copy, "deepcopy", lambda value, memo=None: copied.append(value))
    monkeypatch.setattr(Kept, "seen", [1] * 1000)
    assert vars(Variable("Kept", Kept).get()).keys() == {"calls", "seen", "lock"}
    assert copied == Kept.lock


def test_a_function_of_another_module_of_the_users_is_reached() -> None:
    names = {each.name for each in Setup.from_function(calls_a_module, [((X,), {})]).variables}
    assert "STEPS" not in names  # it is not there yet
    planting.STEPS = 0  # type: ignore[attr-defined]
    found = planted(calls_a_module, adds, X)
    assert found.differences[0].where == "the variable STEPS"


def _off(x: torch.Tensor) -> torch.Tensor:
    torch.set_grad_enabled(False)
    return x * 2


def _doubled(x: torch.Tensor) -> torch.Tensor:
    torch.set_default_dtype(torch.float64)
    return x * 2


@pytest.fixture
def modes() -> Iterator[None]:
    yield
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    ("fn", "where", "values"),
    [
        (_off, "the grad mode after the calls", ("off", "on")),
        (_doubled, "the default dtype after the calls", ("torch.float64", "torch.float32")),
    ],
)
@pytest.mark.usefixtures("modes")
def test_a_mode_that_a_call_leaves_is_compared_and_set_back(
    fn: Callable[..., Any], where: str, values: tuple[str, str]
) -> None:
    x = torch.randn(4)
    found = planted(fn, lambda x: x * 2, x)
    assert found.verdict == DIFFERS
    each = found.differences[0]
    assert each.where == where and (each.eager.strip("'"), each.compiled.strip("'")) == values
    assert torch.is_grad_enabled() and torch.get_default_dtype() is torch.float32
    # PyTorch 2.13 sets the default dtype back after a compiled call, and eager does not
    if fn is _off:
        assert compared(fn, (x,), (x,), backend="inductor").verdict == EQUAL
