"""Compare the observed effects of compiled calls with those of eager calls, value by value."""

from __future__ import annotations

import cmath
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from tclab.capturing.agreement import numbers
from tclab.capturing.agreement.numbers import Distance, Samples
from tclab.capturing.agreement.observed import Observation, ObservedValue
from tclab.capturing.torch_private import rounded
from tclab.model import Difference
from tclab.text.scrub import scrub

#: Properties of a tensor, in the order in which they are compared. Only the first one that differs
#: is reported.
_FACTS = ("type", "structure", "dtype", "layout", "device", "shape")
_FURTHER_FACTS = ("strides", "aliasing", "requires_grad")
#: The relative distance up to which two numbers of Python are equal without further tests: a few
#: units in the last place of float32, from which ``item()`` takes them.
_NUMBER_ERROR = 1e-6


@dataclass
class Findings:
    """The differences between two observations, and the largest distances of values that count as
    equal. `number_error` is that of numbers of Python, relative to them. `raised` is the error that
    both sides raise. `nans` say where only the compiled code has NaN, as float64 does.
    """

    differences: list[Difference] = field(default_factory=list)
    ulps: int = 0
    error: float | None = None
    eager_error: float | None = None
    zero_error: float | None = None
    eager_zero_error: float | None = None
    number_error: float = 0.0
    bits: set[str] = field(default_factory=set)
    raised: str = ""
    nans: list[str] = field(default_factory=list)

    def add(self, distance: Distance) -> None:
        """Record the distance of two values that count as equal."""
        self.ulps = max(self.ulps, distance.ulps)
        self.bits.update(distance.bits)
        if distance.error is None or distance.eager_error is None:
            return
        if distance.is_zero:
            self.zero_error = max(self.zero_error or 0.0, distance.error)
            self.eager_zero_error = max(self.eager_zero_error or 0.0, distance.eager_error)
        else:
            self.error = max(self.error or 0.0, distance.error)
            self.eager_error = max(self.eager_error or 0.0, distance.eager_error)


@dataclass(frozen=True)
class Reference:
    """The observed calls in float64: one exact run, and runs with rounding noise. `eps` is the
    precision of the coarsest type, for values of which none is known.
    """

    exact: Observation
    noisy: tuple[Observation, ...]
    eps: float

    def versions(self, name: str) -> list[ObservedValue | None]:
        """Return one value as the runs have it, the exact one first; None where it is missing."""
        every = [self.exact, *self.noisy]
        return [each.results.get(name) or each.state.get(name) for each in every]

    def samples(self, name: str) -> Samples | None:
        """Return the float64 versions of one value; None if one of the runs has no such tensor."""
        found = self.versions(name)
        tensors = [each.data for each in found if each and isinstance(each.data, torch.Tensor)]
        if len(tensors) < len(found) or len({each.shape for each in tensors}) > 1:
            return None
        known = [self.eps if each is None or each.rounded is None else each.rounded
                 for each in found]  # fmt: skip
        eps = functools.reduce(rounded.coarser, known)
        if isinstance(eps, torch.Tensor) and tensors[0].is_complex():
            eps = eps[..., None]
        exact, *noisy = map(numbers.to_double, tensors)
        return Samples(exact, noisy, eps)


#: The reference if there are no calls in float64. With it, a larger distance, relative to the
#: largest value, counts as rounding.
NO_REFERENCE = Reference(Observation(), (), 0.0)


def compare_observations(
    eager: Observation, compiled: Observation, reference: Reference | None = None
) -> Findings:
    """Compare every result and the state. Without a reference, two values count as equal only if
    they differ by at most a few units in the last place.
    """
    held = Findings(raised=type(eager.error).__name__ if eager.error else "")
    if eager.error or compiled.error:
        held.differences += _compare_errors(eager, compiled)
        if held.differences:  # the sides made other calls, so they have other results and state
            return held
    for left, right in ((eager.results, compiled.results), (eager.state, compiled.state)):
        for name in left.keys() & right.keys():
            _compare_value(held, name, left[name], right[name], reference)
    held.differences += _list_missing(eager.results, compiled.results)
    held.differences += _list_missing(eager.state, compiled.state)
    order = {name: at for at, name in enumerate([*eager.results, *eager.state])}
    held.differences.sort(key=lambda each: (each.what in _FURTHER_FACTS,
                                            order.get(each.where, len(order))))  # fmt: skip
    return held


def have_same_values(reference: Reference, compiled: Observation) -> bool:
    """Return whether the tensors of an observation in float64 have the values of the exact run, but
    for the rounding of float64: the share of the noise that falls to its precision. Their types
    are not compared, because some may have kept another type.
    """
    for name, each in [*compiled.results.items(), *compiled.state.items()]:
        samples = reference.samples(name)
        if samples is None or not isinstance(each.data, torch.Tensor):
            continue
        values = numbers.to_double(each.data)
        if values.shape != samples.exact.shape or not numbers.is_near_in_float64(values, samples):
            return False
    return True


def _compare_errors(eager: Observation, compiled: Observation) -> Iterator[Difference]:
    """Yield a difference if only one side raised, if the types of the errors differ, or if another
    call raised.
    """
    kinds = [type(side.error).__name__ if side.error else "nothing" for side in (eager, compiled)]
    if kinds[0] != kinds[1] or eager.calls != compiled.calls:
        texts = [f"{kind}: {scrub(str(side.error))[:200]}" if side.error else kind
                 for kind, side in zip(kinds, (eager, compiled))]  # fmt: skip
        at = min(eager.calls, compiled.calls) + 1
        yield Difference(f"call {at}", "exception", texts[0], texts[1])


def _list_missing(
    left: Mapping[str, ObservedValue], right: Mapping[str, ObservedValue]
) -> Iterator[Difference]:
    there = {True: "there", False: "not there"}
    for name in {**left, **right}:  # in the order in which they were recorded
        if (name in left) != (name in right):
            yield Difference(name, "existence", there[name in left], there[name in right])


def _compare_value(
    findings: Findings,
    name: str,
    eager: ObservedValue,
    compiled: ObservedValue,
    reference: Reference | None,
) -> None:
    facts = [each for each in _FACTS if eager.facts.get(each) != compiled.facts.get(each)]
    if facts:
        findings.differences.append(_fact_difference(name, facts[0], eager, compiled))
        return
    if isinstance(eager.data, torch.Tensor) and isinstance(compiled.data, torch.Tensor):
        _compare_tensors(findings, name, eager.data, compiled.data, reference)
    elif isinstance(eager.data, (float, complex)) and isinstance(compiled.data, (float, complex)):
        _compare_numbers(findings, name, eager.data, compiled.data, reference)
    elif eager.data != compiled.data:
        findings.differences.append(
            Difference(name, "values", _format_value(eager.data), _format_value(compiled.data))
        )
    for each in _FURTHER_FACTS:
        if eager.facts.get(each) != compiled.facts.get(each):
            findings.differences.append(_fact_difference(name, each, eager, compiled))


def _fact_difference(
    name: str, fact: str, eager: ObservedValue, compiled: ObservedValue
) -> Difference:
    return Difference(name, fact, eager.facts.get(fact, ""), compiled.facts.get(fact, ""))


def _compare_numbers(
    findings: Findings,
    name: str,
    eager: float | complex,
    compiled: float | complex,
    reference: Reference | None,
) -> None:
    """Compare two numbers of Python of one type."""
    error = _relative_distance(eager, compiled)
    if error > _NUMBER_ERROR and not _is_explained(name, eager, compiled, reference):
        findings.differences.append(
            Difference(name, "values", _format_value(eager), _format_value(compiled))
        )
        return
    findings.number_error = max(findings.number_error, error)
    wide = (torch.tensor(each, dtype=torch.complex128) for each in (eager, compiled))
    findings.bits.update(numbers.distance(*wide).bits)


def _relative_distance(left: float | complex, right: float | complex) -> float:
    if left == right or (cmath.isnan(left) and cmath.isnan(right)):
        return 0.0
    if not (cmath.isfinite(left) and cmath.isfinite(right)):
        return float("inf")
    return abs(left - right) / max(abs(left), abs(right))


def _is_explained(name: str, eager: Any, compiled: Any, reference: Reference | None) -> bool:
    """Return whether two numbers of Python differ as the noisy runs do, such as those that
    ``item()`` takes from a tensor.
    """
    if reference is None or not isinstance(eager, float) or not isinstance(compiled, float):
        return False
    found = [each.data for each in reference.versions(name) if each]
    if not all(isinstance(each, float) for each in found) or not found:
        return False
    exact, *noisy = found
    explained = max((abs(each - exact) for each in noisy), default=0.0)
    error = max(explained, abs(eager - exact)) if explained else 0.0
    return bool(0 < abs(compiled - exact) <= numbers.FACTOR * error)


def _compare_tensors(
    findings: Findings,
    name: str,
    eager: torch.Tensor,
    compiled: torch.Tensor,
    reference: Reference | None,
) -> None:
    found = numbers.distance(eager, compiled)
    if reference is not None and bool(found.wrong.any()):
        found = numbers.distance_by_reference(eager, compiled, reference.samples(name))
    if bool(found.wrong.any()):
        findings.differences.append(_value_difference(name, eager, compiled, found))
    else:
        findings.add(found)
        if found.error is not None:  # float64 was the judge
            findings.nans += _describe_new_nans(name, eager, compiled)


def _describe_new_nans(name: str, eager: torch.Tensor, compiled: torch.Tensor) -> list[str]:
    number = int((compiled.isnan() & ~eager.isnan()).sum())
    share = f"{number} of {compiled.numel()} elements of {name}"
    return [f"{share} are NaN, as in float64, and not in eager"] * bool(number)


def _value_difference(
    name: str, eager: torch.Tensor, compiled: torch.Tensor, distance: Distance
) -> Difference:
    wrong = distance.wrong.any(-1) if eager.is_complex() else distance.wrong
    by_row = wrong.flatten(1).any(1) if wrong.dim() > 1 else wrong
    first = wrong.flatten().nonzero()[0] if wrong.dim() else slice(None)
    return Difference(
        name, "values", _format_value(eager.flatten()[first].flatten()[0].item()),
        _format_value(compiled.flatten()[first].flatten()[0].item()),
        int(wrong.sum()), wrong.numel(), int(by_row.sum()) if wrong.dim() > 1 else 0,
        len(by_row) if wrong.dim() > 1 else 0,
        *((None, None) if distance.is_zero else (distance.error, distance.eager_error)),
    )  # fmt: skip


def _format_value(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else f"{value!r:.60}"
