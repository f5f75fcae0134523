"""Decide whether the values of two tensors differ by more than rounding.

An element of the compiled result is wrong if its error against the same function in float64 is more
than `FACTOR` times the error that rounding explains. The explained error is the largest of eager's
own error and of the errors of runs in which each operator's arguments are changed by a random unit
in the last place. So a sum in another order or a cancellation is not wrong, and neither is a
compiled result that is closer to float64 than eager's. A NaN or an infinity that neither eager nor
float64 has is wrong, whatever rounding explains. Two terms are added to the explained error: the
median of the tensor's relative errors, but at most one unit in the last place of the element, for
elements whose own error is small by chance; and `FLOOR` units in the last place. These are units of
the coarsest type in which that element was rounded, so that large or coarse elements hide no other
ones. Integers differ unless the runs differ, too. If eager is further from
float64 than rounding explains, float64 computes something else; then the result is compared with
eager's. But an element that is as near to float64 as rounding is not wrong where eager's is near,
too: there the library of eager is less accurate, as PyTorch's Bessel functions are for integers,
which no run can change by a unit in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from tclab.capturing.torch_private.rounded import Rounded
from tclab.capturing.torch_private.rounding import smallest_step

#: An error counts as rounding if it is at most this multiple of the error that rounding explains.
FACTOR = 16
#: This number of units in the last place always counts as rounding, because libraries differ by a
#: few units for each operator.
FLOOR = 8
#: Results at most this many units in the last place apart are equal without further tests.
NEAR = 4
#: Without a reference, this number of units in the last place of the largest value counts as
#: rounding.
NEAR_LARGEST = 256


@dataclass(frozen=True)
class Distance:
    """The distance of two results. `wrong` marks the elements that differ. `ulps` is the largest
    distance of two elements, in units in the last place. `error` and `eager_error` are the largest
    distances of the compiled result and of eager's result from float64, relative to the largest
    value; they are None without float64. `is_zero` says that all values would be 0 without
    rounding. Then both errors are absolute, because they cannot be relative to 0. `bits` names
    equal values whose bits are not: zeros with another sign, and NaN of another kind.
    """

    wrong: torch.Tensor
    ulps: int = 0
    error: float | None = None
    eager_error: float | None = None
    is_zero: bool = False
    bits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Samples:
    """The values of one result in float64: from an exact run, and from several runs in which each
    operator's arguments are changed by a random unit in the last place of the precision `eps`, of
    the whole tensor or of each element.
    """

    exact: torch.Tensor
    noisy: Sequence[torch.Tensor]
    eps: Rounded


def distance(eager: torch.Tensor, compiled: torch.Tensor) -> Distance:
    """Return the distance of two tensors of equal type and shape, without a reference."""
    if not _rounds(eager):
        return Distance((eager != compiled).cpu())  # float64 does not hold all numbers of int64
    left, right = to_double(eager), to_double(compiled)
    same = (left == right) | (left.isnan() & right.isnan())
    ulps = torch.where(same, 0.0, (left - right).abs() / _unit_in_last_place(left, eager.dtype))
    ulps = torch.where(ulps.isfinite(), ulps, float(2**62)).clamp(max=float(2**62))
    most = math.ceil(ulps.max()) if ulps.numel() else 0
    return Distance(ulps > NEAR, most, bits=_list_unequal_bits(eager, compiled))


def distance_by_reference(
    eager: torch.Tensor, compiled: torch.Tensor, samples: Samples | None
) -> Distance:
    """Return the distance of two tensors, measured against float64. Without `samples`, a larger
    distance counts as rounding; it is relative to the largest value.
    """
    plain = distance(eager, compiled)
    left, right = to_double(eager), to_double(compiled)
    if samples is None or samples.exact.shape != left.shape:
        if not _rounds(eager):
            return plain
        near = _is_near_largest(left, right, eager.dtype)
        return replace(plain, wrong=plain.wrong & ~near)
    exact = samples.exact
    explained = _explain_error(samples)
    if not _rounds(eager):
        moved = (right - exact).abs() > FACTOR * explained
        return replace(plain, wrong=plain.wrong & ((explained == 0) | moved))
    is_zero = _largest_magnitude(exact) <= _largest_magnitude(explained)
    scale = 1.0 if is_zero else _largest_magnitude(exact)
    other = _distance_to_exact(left, exact) > FACTOR * explained + FLOOR * _spacing(
        exact, samples.eps
    )
    # where float64 computes something else, use eager's value
    exact = torch.where(other & left.isfinite(), left, exact)
    allowed = _allow_error(left, exact, samples, explained)
    errors = _distance_to_exact(right, exact)
    appeared = ~right.isfinite() & left.isfinite() & exact.isfinite()
    vanished = right.isfinite() & ~left.isfinite() & ~exact.isfinite()
    too_far = (errors > allowed) | appeared
    too_far = torch.where(vanished, right.abs() > FACTOR * _largest_finite(samples), too_far)
    less_accurate = _is_within(left, samples, NEAR_LARGEST) & _is_within(right, samples, FLOOR)
    wrong = plain.wrong & too_far & ~less_accurate & ~_is_rounded(exact, right, compiled.dtype)
    error, own = (
        _largest_magnitude(_distance_to_exact(each, samples.exact)) / scale
        for each in (right, left)
    )
    return Distance(wrong, plain.ulps, error, own, is_zero, plain.bits)


_SAME_WIDTH = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _list_unequal_bits(left: torch.Tensor, right: torch.Tensor) -> tuple[str, ...]:
    """Name the equal values of two tensors of floating-point or complex numbers whose bits are not
    equal.
    """
    one, two = (
        torch.view_as_real(each.resolve_conj()) if each.is_complex() else each.resolve_neg()
        for each in (left, right)
    )
    width = _SAME_WIDTH[one.dtype.itemsize]
    unequal = one.contiguous().view(width) != two.contiguous().view(width)
    first, second = to_double(left), to_double(right)
    unequal = unequal.cpu()
    zeros, nans = (first == 0) & (second == 0), first.isnan() & second.isnan()
    found = {"the sign of zeros": unequal & zeros, "the bits of NaN": unequal & nans}
    return tuple(name for name, mask in found.items() if bool(mask.any()))


def _rounds(values: torch.Tensor) -> bool:
    return values.is_floating_point() or values.is_complex()


def _explain_error(samples: Samples) -> torch.Tensor:
    """Return the largest error of the noisy runs. A run without a number explains none."""
    largest = torch.zeros_like(samples.exact)
    for each in samples.noisy:
        error = _distance_to_exact(each, samples.exact)
        largest = torch.maximum(largest, torch.where(each.isfinite(), error, 0.0))
    return largest


def _largest_finite(samples: Samples) -> torch.Tensor:
    """Return the largest finite magnitude of each element in the noisy runs; -1 where none is."""
    runs = torch.stack(list(samples.noisy))
    return torch.where(runs.isfinite(), runs.abs(), -1.0).amax(0)


def _allow_error(
    eager: torch.Tensor, exact: torch.Tensor, samples: Samples, explained: torch.Tensor
) -> torch.Tensor:
    """Return the largest error of each element that still counts as rounding."""
    own = torch.where(eager.isfinite(), _distance_to_exact(eager, exact), 0.0)
    error = torch.maximum(explained, own)
    size = exact.abs().nan_to_num(posinf=0.0)
    usual = (error / size)[(size > 0) & error.isfinite()]
    median = float(usual.median()) if usual.numel() else 0.0
    by_chance = torch.as_tensor(samples.eps, dtype=size.dtype).clamp(max=median)
    return FACTOR * (error + by_chance * size) + FLOOR * _spacing(exact, samples.eps)


def _distance_to_exact(values: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """Return |values − exact|. It is 0 where both are the same infinity or both NaN, and infinite
    where only one of them is.
    """
    same = (values == exact) | (values.isnan() & exact.isnan())
    return torch.where(same, 0.0, (values - exact).abs().nan_to_num(float("inf"), float("inf")))


def _spacing(values: torch.Tensor, eps: Rounded) -> torch.Tensor:
    return values.abs().nan_to_num(posinf=0.0) * eps + smallest_step(eps)


def _is_within(values: torch.Tensor, samples: Samples, units: int) -> torch.Tensor:
    """Return the mask of values that are at most some units in the last place from float64."""
    return _distance_to_exact(values, samples.exact) <= units * _spacing(samples.exact, samples.eps)


def _is_rounded(exact: torch.Tensor, values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the mask of values that equal the float64 values rounded to their type, even if both
    overflow.
    """
    if dtype.is_complex:
        return exact == values
    rounded = exact.to(dtype).double()
    return (rounded == values) | (rounded.isnan() & values.isnan())


def is_near_largest(left: torch.Tensor, right: torch.Tensor, units: int) -> bool:
    """Return whether no element of two tensors differs by more than `units` units in the last place
    of the largest value. Integers must be equal.
    """
    if not _rounds(left):
        return bool(torch.equal(left, right))
    pair = to_double(left), to_double(right)
    return bool(
        (
            _distance_to_exact(*pair)
            <= units * torch.finfo(left.dtype).eps * _largest_magnitude(pair[0])
        ).all()
    )


def is_near_in_float64(values: torch.Tensor, samples: Samples) -> bool:
    """Return whether each value of a run in float64 is the exact one but for that type's rounding,
    which is as much smaller than the noise as its unit in the last place.
    """
    eps = torch.finfo(torch.float64).eps
    share = eps / torch.as_tensor(samples.eps, dtype=torch.float64)
    allowed = FACTOR * share * _explain_error(samples) + NEAR_LARGEST * _spacing(samples.exact, eps)
    return bool((_distance_to_exact(values, samples.exact) <= allowed).all())


def _is_near_largest(left: torch.Tensor, right: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the mask of elements that differ by at most `NEAR_LARGEST` units in the last place of
    the largest value.
    """
    eps = torch.finfo(dtype).eps
    share = min(NEAR_LARGEST * eps, math.sqrt(eps))  # 256 units of bfloat16 are twice the value
    return _distance_to_exact(left, right) <= share * max(_largest_magnitude(left), 0.0)


def _largest_magnitude(values: torch.Tensor) -> float:
    finite = values[values.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def _unit_in_last_place(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the unit in the last place of each value, in its own type."""
    info = torch.finfo(dtype)
    _, exponent = torch.frexp(values.abs().nan_to_num(posinf=0.0))
    unit = torch.ldexp(torch.full_like(values, info.eps), exponent - 1)
    unit = torch.where(values == 0, 0.0, unit)
    return unit.clamp(min=max(info.tiny * info.eps, 5e-324))


def to_double(values: torch.Tensor) -> torch.Tensor:
    """Return the values in float64; complex numbers get a last dimension of size 2."""
    if values.is_complex():
        values = torch.view_as_real(values.resolve_conj())
    return values.detach().to("cpu", torch.float64)
