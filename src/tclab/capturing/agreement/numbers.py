"""Whether the values of two tensors differ by more than rounding.

An element of the compiled result is wrong where it is off the same function in float64 by more
than `FACTOR` times what rounding explains there: the largest of eager's own error and of those of
runs in which each operator's arguments are off by a random unit of the last place. So neither a
sum in another order nor cancellation is called wrong, nor a compile that is nearer to float64 than
eager is. To this the median of the tensor is added, for elements whose own error is small by
chance, and `FLOOR` units of the last place. Where eager is itself further off than rounding
explains, float64 computes something else, and eager is what the result is held to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

#: How many times the error that rounding explains counts as rounding, too.
FACTOR = 16
#: Units of the last place that are rounding in any case: libraries differ by a few per operator.
FLOOR = 8
#: Up to so many units of the last place nothing else is asked.
NEAR = 4


@dataclass(frozen=True)
class Distance:
    """How far two results are from one another: `wrong` marks the elements that differ; `ulps` is
    the largest distance of two elements, `error` and `eager_error` the largest against float64,
    relative to the largest value; None without float64.
    """

    wrong: torch.Tensor
    ulps: int = 0
    error: float | None = None
    eager_error: float | None = None


@dataclass(frozen=True)
class Samples:
    """The same result in float64: exact, and with each operator off by a unit of the last place of
    the precision `eps`.
    """

    exact: torch.Tensor
    noisy: Sequence[torch.Tensor]
    eps: float


def distance(eager: torch.Tensor, compiled: torch.Tensor) -> Distance:
    """How far two tensors of one type and shape are from one another, by themselves."""
    left, right = as_double(eager), as_double(compiled)
    same = (left == right) | (left.isnan() & right.isnan())
    if not eager.is_floating_point() and not eager.is_complex():
        return Distance(~same)
    ulps = torch.where(same, 0.0, (left - right).abs() / _unit(left, eager.dtype))
    ulps = torch.where(ulps.isfinite(), ulps, float(2**62))
    most = math.ceil(ulps.max()) if ulps.numel() else 0
    return Distance(ulps > NEAR, most)


def judged(eager: torch.Tensor, compiled: torch.Tensor, samples: Samples | None) -> Distance:
    """The same with float64 as the judge; without `samples` more units of the last place are
    rounding, of the largest value.
    """
    plain = distance(eager, compiled)
    left, right = as_double(eager), as_double(compiled)
    if samples is None or samples.exact.shape != left.shape:
        return Distance(plain.wrong & ~_near_largest(left, right, eager.dtype), plain.ulps)
    exact = samples.exact
    scale = _largest(exact)
    explained = _explained(exact, samples, torch.zeros_like(exact))
    other = _off(left, exact) > FACTOR * explained + FLOOR * _spacing(exact, samples.eps)
    exact = torch.where(other & left.isfinite(), left, exact)  # float64 computes something else
    allowed = _allowed(left, exact, samples, explained)
    off = _off(right, exact)
    wrong = plain.wrong & (off > allowed) & ~_is_rounded(exact, right, compiled.dtype)
    error, own = (_largest(_off(each, samples.exact)) / (scale or 1.0) for each in (right, left))
    return Distance(wrong, plain.ulps, error, own)


def _explained(exact: torch.Tensor, samples: Samples, start: torch.Tensor) -> torch.Tensor:
    for each in samples.noisy:
        start = torch.maximum(start, _off(each, exact))
    return start


def _allowed(
    eager: torch.Tensor, exact: torch.Tensor, samples: Samples, explained: torch.Tensor
) -> torch.Tensor:
    """The error of each element that counts as rounding."""
    own = torch.where(eager.isfinite(), _off(eager, exact), 0.0)
    error = torch.maximum(explained, own)
    usual = error[error.isfinite()]
    median = usual.median() if usual.numel() else torch.zeros((), dtype=error.dtype)
    return FACTOR * (error + median) + FLOOR * _spacing(exact, samples.eps)


def _off(values: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """|values − exact|; 0 where both are the same infinity or no number, else infinite there."""
    same = (values == exact) | (values.isnan() & exact.isnan())
    return torch.where(same, 0.0, (values - exact).abs().nan_to_num(float("inf"), float("inf")))


def _spacing(values: torch.Tensor, eps: float) -> torch.Tensor:
    return values.abs().nan_to_num(posinf=0.0) * eps


def _is_rounded(exact: torch.Tensor, values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Whether a value is what float64's is in the smaller type: where that overflows, say."""
    if dtype.is_complex or not dtype.is_floating_point:
        return exact == values
    rounded = exact.to(dtype).double()
    return (rounded == values) | (rounded.isnan() & values.isnan())


def is_near_largest(left: torch.Tensor, right: torch.Tensor, units: int) -> bool:
    """Whether all elements of two tensors are within so many units of the last place of the
    largest value; integers have to be equal.
    """
    if not left.is_floating_point() and not left.is_complex():
        return bool(torch.equal(left, right))
    pair = as_double(left), as_double(right)
    return bool((_off(*pair) <= units * torch.finfo(left.dtype).eps * _largest(pair[0])).all())


def _near_largest(left: torch.Tensor, right: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Within 256 units of the last place of the largest value, or of the element's own."""
    if not dtype.is_floating_point and not dtype.is_complex:
        return left == right
    eps = torch.finfo(dtype).eps
    return _off(left, right) <= 256 * eps * max(_largest(left), 0.0)


def _largest(values: torch.Tensor) -> float:
    finite = values[values.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def _unit(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The unit of the last place of each value, in its own type."""
    info = torch.finfo(dtype)
    _, exponent = torch.frexp(values.abs().nan_to_num(posinf=0.0))
    unit = torch.ldexp(torch.full_like(values, info.eps), exponent - 1)
    return unit.clamp(min=max(info.tiny * info.eps, 5e-324))


def as_double(values: torch.Tensor) -> torch.Tensor:
    """The values in float64; of complex numbers both parts, in a last dimension of size 2."""
    if values.is_complex():
        values = torch.view_as_real(values.resolve_conj())
    return values.detach().to("cpu", torch.float64)
