"""Compare the calls of a capture with eager calls: copy the state at their start, repeat them, and
judge the results.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch

from tclab.capturing.agreement import copies, operators, own_branches, runs, stages
from tclab.capturing.agreement.judge import (
    NO_REFERENCE,
    Findings,
    Reference,
    compare_observations,
    have_same_values,
)
from tclab.capturing.agreement.numbers import NEAR_LARGEST
from tclab.capturing.agreement.observed import Observation
from tclab.capturing.agreement.repeats import TOO_SLOW, Repeats, to_float64
from tclab.capturing.agreement.setups import Call, Setup
from tclab.capturing.torch_private import precision, replaying
from tclab.model import EQUAL, RANDOM, UNKNOWN, Agreement, Difference

_OWN_COMPILE_REASON = (
    "this machine's own compile: the numbers of a GPU that is not here cannot be known"
)
_EAGER_DRAWS = (
    "where it draws eager's random numbers, with torch._inductor.config.fallback_random = True; "
    "without, it draws other ones"
)
#: The reference in float64 cannot judge such a difference, because eager computes these numbers in
#: float64 already.
_PYTHON_NUMBERS = "Dynamo computes some numbers of Python as tensors of float32"
_NOT_JUDGED = (
    "{place} differs by more than {units} units in the last place of its largest value, and it is "
    "not known whether that is rounding: {why}"
)
#: The number of float64 runs with rounding noise: at first, and before a difference is reported.
#: More runs are needed then, because in few runs the noise of an element can cancel by chance.
_FIRST_NOISY_RUNS, _FINAL_NOISY_RUNS = 2, 12


@dataclass
class Comparison(Repeats):
    """The comparison of one capture: `begin` it before the capture, call `add_result` after each
    call, and ask for the `agreement` at the end.
    """

    observed: Observation = field(default_factory=Observation)
    #: Why a result of the compiled calls could not be recorded, or ''.
    unreadable: str = ""

    #: Whether the calls run only what the function itself compiles.
    runs_own_compiles: ClassVar[bool] = False

    @classmethod
    def begin(
        cls, fn: Callable[..., Any], calls: Sequence[Call], backward: bool
    ) -> Comparison | str:
        """Copy the state from which the calls start. If it cannot be copied, return the reason."""
        setup = Setup.from_function(fn, calls)
        try:
            return cls(setup, setup.copy(), runs.ProcessState(), backward)
        except Exception as error:
            return f"its state cannot be copied: {type(error).__name__}: {error!s:.120}"

    def add_result(self, result: object) -> None:
        """Record the result of a compiled call. A result that cannot be read gives no verdict."""
        try:
            self.observed.add_result(result, self.setup)
        except Exception as error:  # it contains itself, or an attribute raises
            self.unreadable = f"its result cannot be read: {type(error).__name__}: {error!s:.120}"

    def agreement(self, options: Mapping[str, Any]) -> Agreement:
        """Make the calls in eager, from the same start state, and compare the results. `options`
        are the options that the capture gave to torch.compile. The compiles that search for the
        cause of a difference use the same options.
        """
        if self.unreadable:
            return Agreement(UNKNOWN, reason=self.unreadable)
        self.setup.contents = [each.get() for each in self.setup.variables]
        try:
            self.observed.add_state(self.setup)
            return self._name_closed(self._judge(options))
        except Exception as error:
            return _make_unknown(error)

    def _name_closed(self, agreement: Agreement) -> Agreement:
        """Return the verdict on equal results with the objects of which only the type is equal."""
        if agreement.verdict != EQUAL or not self.observed.closed:
            return agreement
        left_out = ", ".join(f"{name} is a {kind}" for name, kind in self.observed.closed.items())
        left_out += ", whose content is not compared"
        if not any(isinstance(each.data, torch.Tensor) for each in self.observed.results.values()):
            return Agreement(UNKNOWN, reason=left_out)
        return replace(agreement, reason="; ".join(filter(None, (agreement.reason, left_out))))

    def agrees_with(self, other: Comparison, options: Mapping[str, Any]) -> bool:
        """Return whether the compiled calls of another comparison agree with these eager calls. The
        arguments of the other calls may be of other types.
        """
        other.process_state = self.process_state
        eager, observed = self.eager(), other.compiled(options)

        def differs(reference: Reference | None = None) -> bool:
            found = compare_observations(eager, observed, reference).differences
            return any(each.what != "type" or "the argument " not in each.where for each in found)

        if eager.error or observed.error:
            return False
        return not differs() or not differs(self.reference(_FIRST_NOISY_RUNS))

    def raising_operator(self) -> operators.Operator | None:
        """Return the operator on which Inductor raises when it compiles these calls; None if no
        such operator can be found.
        """
        return operators.find_raising_operator(self.compiled)

    def judge_new_compile(self, options: Mapping[str, Any]) -> Agreement:
        """Compile on this machine only for the comparison, and return the verdict on that
        compile.
        """
        try:
            self.observed = self.compiled(options, eager_random=False)
            found = self._name_closed(self._judge(options))
        except Exception as error:
            return _make_unknown(error)
        return replace(found, reason="; ".join(filter(None, (_OWN_COMPILE_REASON, found.reason))))

    def _judge(self, options: Mapping[str, Any]) -> Agreement:
        eager = self.eager()
        if eager.error and (unlike := self.describe_unlike_copy()):
            return Agreement(UNKNOWN, reason=unlike)
        if not compare_observations(eager, self.observed).differences:
            return _make_equal_agreement(compare_observations(eager, self.observed))
        if random := compare_observations(*self.eager_twice(), NO_REFERENCE).differences:
            return self._judge_random(eager, random, options)
        for noisy_runs in (_FIRST_NOISY_RUNS, _FINAL_NOISY_RUNS):
            reference = self.reference(noisy_runs)
            found = compare_observations(eager, self.observed, reference)
            if not found.differences:
                return _make_equal_agreement(found, self.no_reference)
        if unlike := self.describe_unlike_copy():
            return Agreement(UNKNOWN, reason=unlike)
        again = self.compiled(options, eager_random=True)
        if not (found := compare_observations(eager, again, reference)).differences:
            return _make_equal_agreement(found, _EAGER_DRAWS)
        if self.no_reference == TOO_SLOW and all(
            each.what == "values" for each in found.differences
        ):
            place = found.differences[0].where
            return Agreement(
                UNKNOWN,
                reason=_NOT_JUDGED.format(place=place, units=NEAR_LARGEST, why=TOO_SLOW),
            )

        def differs(changed: Mapping[str, Any]) -> bool:
            observed = self.compiled({**_common_options(options), **changed})
            return bool(compare_observations(eager, observed, reference).differences)

        if own := own_branches.explain(self, found.differences, eager, again):
            return own
        near = compare_observations(eager, self.observed, NO_REFERENCE)
        if (
            not near.differences
            and differs({"backend": "eager"})
            and self._dynamo_agrees_in_float64(options, reference)
        ):
            return _make_equal_agreement(near, _PYTHON_NUMBERS)
        agreement = stages.explain_difference(found.differences, differs, self._first_operator)
        return self._blame_undeclared_write(agreement)

    def describe_unlike_copy(self) -> str:
        """Return how a copy of the calls' objects behaves otherwise than they do; '' if it does
        not.
        """
        return copies.describe_unlike_copy(self)

    def _judge_random(
        self, eager: Observation, random: Sequence[Difference], options: Mapping[str, Any]
    ) -> Agreement:
        """Return the verdict if two eager runs differ by `random`: their values cannot be compared,
        but another shape, type or error, which these runs agree on, can.
        """
        unsteady = {(each.where, each.what) for each in random}

        def list_steady(observed: Observation) -> list[Difference]:
            found = compare_observations(eager, observed, NO_REFERENCE).differences
            steady = (each for each in found if each.what != "values")
            return [each for each in steady if (each.where, each.what) not in unsteady]

        steady = list_steady(self.observed) and list_steady(self.compiled(options))
        if not steady:
            return Agreement(RANDOM, reason="two eager runs with the same seed differ, too")
        common = _common_options(options)
        return stages.explain_difference(
            steady,
            lambda changed: bool(list_steady(self.compiled({**common, **changed}))),
            self._first_operator,
        )

    def _blame_undeclared_write(self, agreement: Agreement) -> Agreement:
        """Return the verdict with the operator that writes to an argument and does not declare it,
        if there is one.
        """
        for name, argument in self.undeclared.items():
            if found := operators.find_named(self.compiled, name):
                return replace(agreement, operator=name, line=found.line, undeclared=argument)
        return agreement

    def _dynamo_agrees_in_float64(self, options: Mapping[str, Any], reference: Reference) -> bool:
        """Return whether Dynamo's graphs compute what eager computes if both compute in float64.
        The results of float32 then differ only by rounding.
        """
        in_float64 = {**_common_options(options), "backend": precision.run_graph_in_float64}
        seen = self.compiled(in_float64, convert=to_float64)
        return reference is not NO_REFERENCE and not seen.error and (
            have_same_values(reference, seen)
        )  # fmt: skip

    def _first_operator(self, backend: str) -> operators.Operator | None:
        """Return the first operator whose result differs with this backend; None if the graphs
        cannot be run alone.
        """
        try:
            with warnings.catch_warnings(), replaying.closing_transforms():
                warnings.simplefilter("ignore")
                if backend == "inductor":
                    return operators.first_wrong_in_inductor(self.compiled)
                found: list[torch.Tensor] = []
                self.eager(replaying.recording_values(found))
                return operators.find_unmatched(self.compiled, found, dynamo=backend == "eager")
        except Exception:  # then the verdict names no operator
            return None


def _common_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that every backend accepts."""
    return {name: value for name, value in options.items() if name in ("dynamic", "fullgraph")}


def _make_unknown(error: Exception) -> Agreement:
    said = f"{type(error).__name__}: {error!s:.200}"
    return Agreement(UNKNOWN, reason=said.rstrip("."))  # it stands inside a sentence


def _make_equal_agreement(findings: Findings, reason: str = "") -> Agreement:
    raised = f"both raise {findings.raised}" if findings.raised else ""
    return Agreement(
        EQUAL, findings.ulps, findings.error, findings.eager_error, findings.zero_error,
        findings.eager_zero_error,
        reason="; ".join(filter(None, (raised, *findings.nans, reason))),
        unequal_bits=" and ".join(sorted(findings.bits)), number_error=findings.number_error,
    )  # fmt: skip
