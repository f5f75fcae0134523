"""What counts as rounding, and what does not."""

from __future__ import annotations

import torch

from tclab.capturing.agreement import numbers
from tclab.capturing.agreement.numbers import Samples

EPS = torch.finfo(torch.float32).eps


def samples(exact: torch.Tensor, off: float = 1e-7, eps: float = EPS) -> Samples:
    exact = exact.double()
    return Samples(exact, [exact * (1 + off), exact * (1 - off)], eps)


def test_ulps_are_counted_in_the_type_of_the_values() -> None:
    one = torch.tensor([1.0, 1024.0, 0.0])
    other = torch.nextafter(torch.nextafter(one, one + 1), one + 1)
    found = numbers.distance(one, other)
    assert found.ulps == 2
    assert not found.wrong.any()
    half = torch.tensor([1.0], dtype=torch.bfloat16)
    assert numbers.distance(half, half + 2**-7).ulps == 1


def test_another_order_of_a_sum_is_rounding_and_a_row_left_out_is_not() -> None:
    torch.manual_seed(0)
    x = torch.randn(64, 4096)
    exact = x.double().sum(1)
    noisy = [(x.double() * (1 + EPS * torch.randn(x.shape).sign())).sum(1) for _ in range(2)]
    eager = x.sum(1)
    other = torch.stack([x[:, at] for at in range(4096)]).cumsum(0)[-1]
    assert numbers.distance(eager, other).wrong.any()
    assert not numbers.distance_by_reference(eager, other, Samples(exact, noisy, EPS)).wrong.any()
    other[3] = 0.0
    wrong = numbers.distance_by_reference(eager, other, Samples(exact, noisy, EPS)).wrong
    assert wrong.nonzero().tolist() == [[3]]


def test_a_result_nearer_to_float64_than_eager_is_not_wrong() -> None:
    exact = torch.full((4,), 1.0)
    eager, compiled = exact + 3e-6, exact.clone()
    assert not numbers.distance_by_reference(eager, compiled, samples(exact)).wrong.any()
    found = numbers.distance_by_reference(eager, compiled, samples(exact))
    assert found.error == 0.0
    assert found.eager_error is not None
    assert found.eager_error > 1e-6


def test_an_overflow_that_float64_has_not_is_not_wrong_where_compiled_has_the_value() -> None:
    exact = torch.tensor([60000.0, 2.0])
    eager = torch.tensor([float("inf"), 2.0], dtype=torch.float16)
    compiled = exact.half()
    judge = samples(exact, off=1e-3, eps=2**-10)
    assert not numbers.distance_by_reference(eager, compiled, judge).wrong.any()
    assert numbers.distance_by_reference(compiled, eager, judge).wrong.tolist() == [True, False]


def test_no_number_in_place_of_a_number_is_wrong() -> None:
    exact = torch.tensor([1.0, float("nan")])
    compiled = torch.tensor([float("nan"), float("nan")])
    assert numbers.distance_by_reference(exact, compiled, samples(exact)).wrong.tolist() == [
        True,
        False,
    ]


def test_where_float64_computes_something_else_the_result_is_held_to_eager() -> None:
    eager, elsewhere = torch.ones(4), torch.full((4,), 2.0)
    assert numbers.distance_by_reference(
        eager, torch.full((4,), 1.5), samples(elsewhere)
    ).wrong.all()
    assert not numbers.distance_by_reference(eager, eager + 2e-6, samples(elsewhere)).wrong.any()


def test_integers_are_equal_or_wrong_but_where_rounding_decides() -> None:
    left, right = torch.tensor([1, 2]), torch.tensor([1, 3])
    assert numbers.distance(left, right).wrong.tolist() == [False, True]
    exact = left.double()
    unsteady = Samples(exact, [torch.tensor([1.0, 3.0]).double()], EPS)
    assert not numbers.distance_by_reference(left, right, unsteady).wrong.any()


def test_complex_numbers_are_compared_by_their_parts() -> None:
    one = torch.tensor([1 + 1j, 2 + 2j])
    assert numbers.distance(one, one).ulps == 0
    assert numbers.distance(one, one + torch.tensor([0, 1j])).wrong.any(-1).tolist() == [
        False,
        True,
    ]


def test_the_error_of_a_result_whose_terms_cancel_is_absolute() -> None:
    """Nothing is left of 1 + 3e-17 - 1 - 3e-17 but rounding; relative to that it is a billion."""
    exact = torch.full((4,), 1e-17, dtype=torch.float64)
    noisy = [exact + 2e-8, exact - 3e-8]
    eager = torch.full((4,), 1e-8)
    found = numbers.distance_by_reference(eager, -eager, Samples(exact, noisy, EPS))
    assert found.is_zero
    assert not found.wrong.any()
    assert 0.9e-8 < found.error < 1.1e-8
    assert 0.9e-8 < found.eager_error < 1.1e-8
