"""What counts as rounding, and what does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tclab.capturing.agreement import numbers
from tclab.capturing.agreement.numbers import Samples
from tclab.model import DIFFERS, EQUAL
from tests.capturing.agreement.planting import planted

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


@pytest.mark.parametrize(
    ("fn", "other", "but"),
    [
        (lambda x: x * 0, lambda x: x * -0.0, "the sign of zeros"),
        (lambda x: x.to(torch.complex64) * 0, lambda x: -x * 0j, "the sign of zeros"),
        (lambda x: x.bfloat16() * 0, lambda x: -x.bfloat16() * 0, "the sign of zeros"),
        (
            lambda x: (x * 0).to(torch.float8_e5m2),
            lambda x: (-x * 0).to(torch.float8_e5m2),
            "the sign of zeros",
        ),
        (lambda x: x * torch.nan, lambda x: -(x * torch.nan), "the bits of NaN"),
        (lambda x: (x, 0.0), lambda x: (x, -0.0), "the sign of zeros"),
        (lambda x: (x, 1.0), lambda x: (x, 1 + 5e-7), "numbers of Python, equal to 5.0e-07"),
        (lambda x: (x, 1j), lambda x: (x, 1j + 1e-8j), "numbers of Python, equal to 1.0e-08"),
    ],
)
def test_what_is_not_equal_to_the_bit_is_not_said_to_be(fn: Any, other: Any, but: str) -> None:
    x = torch.ones(8)
    assert str(planted(fn, other, x)) == f"equal to eager, to the bit but for {but}"
    assert str(planted(fn, fn, x)) == "equal to eager, to the bit"


@pytest.mark.parametrize("number", [1.001, -1.0, float("inf"), float("nan"), 1 + 0j])
def test_another_number_of_python_differs(number: complex) -> None:
    assert planted(lambda x: (x, 1.0), lambda x: (x, number), torch.ones(8)).verdict == DIFFERS
    infinite = planted(lambda x: (x, torch.inf), lambda x: (x, number), torch.ones(8))
    assert infinite.verdict == (EQUAL if number == torch.inf else DIFFERS)


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


def test_a_result_at_float64_is_not_wrong_where_eager_is_less_accurate() -> None:
    """Eager's Bessel functions of an integer are up to 18 units off, and no run explains it."""
    exact = torch.full((3,), 1.0)
    judge = samples(exact, off=0.0)
    eager = exact - 18 * EPS
    compiled = exact + torch.tensor([2.0, 9.0, 18.0]) * EPS
    wrong = numbers.distance_by_reference(eager, compiled, judge).wrong
    assert wrong.tolist() == [False, True, True]
    elsewhere = exact - 300 * EPS  # float64 computes something else
    assert numbers.distance_by_reference(elsewhere, compiled, judge).wrong.all()


def test_a_long_sum_of_columns_one_by_one_is_rounding() -> None:
    """Inductor adds up columns so on a CPU; the error was 60 times that of eager."""

    def one_by_one(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.add.accumulate(x.numpy(), 0))[-1].clone()

    x = torch.randn(65536, 16, generator=torch.Generator().manual_seed(0))
    assert planted(lambda x: x.sum([0]), one_by_one, x).verdict == EQUAL
    assert planted(lambda x: x.sum([0]), lambda x: one_by_one(x) + 10, x).verdict == DIFFERS


@pytest.mark.parametrize("dims", [[0, 1], None])
def test_a_number_more_than_a_total_sum_is_no_rounding(dims: list[int] | None) -> None:
    x = torch.randn(65536, 16, generator=torch.Generator().manual_seed(0))
    assert planted(lambda x: x.sum(dims), lambda x: x.sum(dims) + 1, x).verdict == DIFFERS


def test_a_function_of_integers_is_held_to_float64() -> None:
    """The Bessel function Y₁ of eager is 18 units in the last place off at 5, in float32."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        return torch.special.bessel_y1(x)

    def exact(x: torch.Tensor) -> torch.Tensor:
        return fn(x.double()).float()

    x = torch.tensor([5, 6, 7])
    assert numbers.distance(fn(x), exact(x)).ulps > 16
    assert planted(fn, exact, x).verdict == EQUAL
    assert planted(fn, lambda x: exact(x) * (1 + 20 * EPS), x).verdict == DIFFERS


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


@pytest.mark.parametrize(
    ("fn", "other", "x"),
    [
        (lambda x: x * 0, lambda x: x * 0 + 0.0156, torch.ones(8).bfloat16()),
        (lambda x: x * 0, lambda x: x * 0 + 2e-7, torch.ones(8)),
        (lambda x: x.long() + 2**60, lambda x: x.long() + 2**60 + 1, torch.ones(8)),
        (
            lambda x: (x * 2, x.long() * 0 + 40000),
            lambda x: (x * 2, x.long() * 0 + 40100),
            torch.ones(8).bfloat16(),
        ),
        (lambda x: torch.sub(x, x.clone(), alpha=2), lambda x: x * 5, torch.ones(8)),
    ],
    ids=["half of zero", "zero", "large integers", "integers beside halves", "alpha"],
)
def test_what_no_rounding_explains_differs(fn: Any, other: Any, x: torch.Tensor) -> None:
    assert planted(fn, other, x).verdict == DIFFERS


def cancelled_root(x: torch.Tensor) -> torch.Tensor:
    y = x * 3
    return (y * y - (x * 3) * y).sqrt()


def test_noise_without_a_number_explains_no_number() -> None:
    assert planted(cancelled_root, lambda x: cancelled_root(x) + 1e3, torch.rand(64)).verdict == (
        DIFFERS
    )


def test_a_number_in_place_of_eagers_nan_differs() -> None:
    mask = torch.tensor([[True], [False]])

    def weights(x: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, x * 0.125, -torch.inf).softmax(-1)

    found = planted(weights, lambda x: weights(x).nan_to_num(0.0), torch.randn(2, 8))
    assert found.verdict == DIFFERS


def test_an_infinity_of_eagers_may_be_a_large_number() -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return torch.rsqrt(x.var(-1))

    def otherwise(x: torch.Tensor) -> torch.Tensor:
        return torch.rsqrt((x - x.mean(-1, keepdim=True)).pow(2).sum(-1) / 15)

    assert planted(scaled, otherwise, torch.full((4, 16), 1 / 3)).verdict == EQUAL


def test_a_large_column_hides_no_small_one() -> None:
    def shifted(x: torch.Tensor) -> torch.Tensor:
        return (x * 1.1 + 0.3) - x * 0.2

    def negated(x: torch.Tensor) -> torch.Tensor:
        y = shifted(x)
        y[:, 4] *= -1
        return y

    boxes = torch.cat([torch.rand(100, 4) * 1000, torch.rand(100, 1)], 1).bfloat16()
    assert planted(shifted, negated, boxes).verdict == DIFFERS


def test_without_float64_half_precision_is_held_to_a_part_of_its_largest_value() -> None:
    def halves(x: torch.Tensor) -> torch.Tensor:
        assert x.dtype is torch.bfloat16
        return x * 2

    assert planted(halves, lambda x: -halves(x), torch.ones(8).bfloat16()).verdict == DIFFERS


def test_a_coarse_tensor_that_is_gone_makes_no_other_one_coarse() -> None:
    def squared(x: torch.Tensor) -> torch.Tensor:
        coarse = torch.zeros(4096, dtype=torch.bfloat16)
        coarse.add_(0.1)
        del coarse
        y = x * 3
        return y * y + 1

    x = torch.rand(4096) + 0.5
    assert planted(squared, lambda x: squared(x) * 1.001, x).verdict == DIFFERS


# --------------------------------------------------------------------------- in place


def test_what_an_operator_in_place_rounds_is_rounding() -> None:
    """Eager's error is small here by chance, so that only the noise explains the other one."""

    def in_place(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y.exp_()
        y.sub_(22026)
        return y

    def otherwise(x: torch.Tensor) -> torch.Tensor:
        return (x / 2).exp() ** 2 - 22026

    for number in (10.081546783447266, 10.011468887329102, 10.029523849487305):
        x = torch.tensor([number])
        assert planted(in_place, otherwise, x).verdict == EQUAL
        wrong = planted(in_place, lambda x: in_place(x) * 1.001, x)
        assert wrong.verdict == DIFFERS


def test_a_masked_row_in_place_stays_as_it_is_in_each_precision() -> None:
    least, mask = torch.finfo(torch.float32).min, torch.tensor([[True], [False]])

    def weights(scores: torch.Tensor) -> torch.Tensor:
        y = torch.where(mask, scores * 0.125, least)
        y.sub_(y.amax(-1, keepdim=True)).exp_()
        return y.div_(y.sum(-1, keepdim=True))

    def softmax(scores: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, scores * 0.125, least).softmax(-1)

    def masked_by_itself(scores: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, scores * 0.125, least - scores * 1e36).softmax(-1)

    assert planted(weights, softmax, torch.randn(2, 8)).verdict == EQUAL
    found = planted(weights, masked_by_itself, torch.randn(2, 8))
    assert str(found.differences[0]) == "output 0, 1 of 2 rows"


# --------------------------------------------------------------------------- by element


def coarse(x: torch.Tensor) -> torch.Tensor:
    return (x.bfloat16() * 1.1).float()


def joined(x: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    return torch.cat([coarse(x), scores * 3], -1) * 1.01 + 0.1


def written(x: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    y = torch.zeros(6, 5)
    y[:, :4] = coarse(x)
    y[:, 4:] = scores * 3
    return y.mul_(1.01).add_(0.1)


def split(x: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    boxes, rest = joined(x, scores).t().split([4, 1])
    return torch.cat([boxes.relu(), rest.clamp(0, 9)]).t().contiguous()


def chosen(x: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    at = torch.arange(5) < 4
    wide = torch.cat([x, scores * 3 / 1.1], -1)
    return torch.where(at, coarse(wide), wide * 1.1) * 1.01 + 0.1


@pytest.mark.parametrize("fn", [joined, written, split, chosen])
def test_a_coarse_part_hides_no_wrong_exact_part(fn: Any) -> None:
    def in_float32(x: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        return torch.cat([x * 1.1, scores * 3], -1) * 1.01 + 0.1

    def wrong(x: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        return fn(x, scores) * torch.tensor([1.0, 1, 1, 1, 1.001])

    x, scores = torch.rand(6, 4) + 1, torch.rand(6, 1)
    right = planted(fn, in_float32, x, scores)
    assert right.verdict == EQUAL and right.ulps > 100, right
    found = planted(fn, wrong, x, scores)
    assert found.verdict == DIFFERS and found.differences[0].elements == 6, found


def test_a_large_element_hides_no_wrong_small_one_where_dynamo_agrees() -> None:
    x = torch.tensor([1e6, 1.0, 1e-3, 1e-6])
    wrong = torch.tensor([1, 1, 1, 1.01])
    assert planted(lambda x: x * 3, lambda x: x * 3 * wrong, x).verdict == DIFFERS
