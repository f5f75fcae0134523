"""Compare the calls of a capture with eager calls: copy the state at their start, repeat them, and
judge the results.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch

from tclab.capturing.agreement import operators, runs, stages
from tclab.capturing.agreement.judge import (
    NO_REFERENCE,
    Findings,
    Reference,
    compare_observations,
    have_same_values,
)
from tclab.capturing.agreement.numbers import NEAR_LARGEST
from tclab.capturing.agreement.observed import Observation
from tclab.capturing.agreement.setups import Call, Setup
from tclab.capturing.agreement.values import Convert
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
_NO_FLOAT64 = "it does not run in float64"
#: The seconds that all runs in float64 of one comparison may take.
SECONDS_IN_FLOAT64 = 60.0
_TOO_SLOW = f"its calls in float64 take more than {SECONDS_IN_FLOAT64:.0f} seconds"
_NOT_JUDGED = (
    "{place} differs by more than {units} units in the last place of its largest value, and it is "
    "not known whether that is rounding: {why}"
)
#: The number of float64 runs with rounding noise: at first, and before a difference is reported.
#: More runs are needed then, because in few runs the noise of an element can cancel by chance.
_FIRST_NOISY_RUNS, _FINAL_NOISY_RUNS = 2, 12


@dataclass
class Comparison:
    """The comparison of one capture: `begin` it before the capture, call `add_result` after each
    call, and ask for the `agreement` at the end.
    """

    setup: Setup
    start: Setup
    process_state: runs.ProcessState
    backward: bool
    observed: Observation = field(default_factory=Observation)
    #: Custom operator → the argument that it writes to and does not declare.
    undeclared: dict[str, str] = field(default_factory=dict)
    #: Why a result of the compiled calls could not be recorded, or ''.
    unreadable: str = ""
    #: When the runs in float64 have to end, by ``time.monotonic``; 0 before the first one.
    float64_end: float = 0.0
    #: Why there is no reference in float64, or ''.
    no_reference: str = ""

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
        if not compare_observations(eager, self.observed).differences:
            return _make_equal_agreement(compare_observations(eager, self.observed))
        if random := compare_observations(eager, self.eager_again(), NO_REFERENCE).differences:
            return self._judge_random(eager, random, options)
        for noisy_runs in (_FIRST_NOISY_RUNS, _FINAL_NOISY_RUNS):
            reference = self.reference(noisy_runs)
            found = compare_observations(eager, self.observed, reference)
            if not found.differences:
                return _make_equal_agreement(found, self.no_reference)
        again = self.compiled(options, eager_random=True)
        if not (found := compare_observations(eager, again, reference)).differences:
            return _make_equal_agreement(found, _EAGER_DRAWS)
        if self.no_reference == _TOO_SLOW and all(
            each.what == "values" for each in found.differences
        ):
            place = found.differences[0].where
            return Agreement(
                UNKNOWN,
                reason=_NOT_JUDGED.format(place=place, units=NEAR_LARGEST, why=_TOO_SLOW),
            )

        def differs(changed: Mapping[str, Any]) -> bool:
            observed = self.compiled({**_common_options(options), **changed})
            return bool(compare_observations(eager, observed, reference).differences)

        near = compare_observations(eager, self.observed, NO_REFERENCE)
        if (
            not near.differences
            and differs({"backend": "eager"})
            and self._dynamo_agrees_in_float64(options, reference)
        ):
            return _make_equal_agreement(near, _PYTHON_NUMBERS)
        agreement = stages.explain_difference(found.differences, differs, self._first_operator)
        return self._blame_undeclared_write(agreement)

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
        seen = self.compiled(in_float64, convert=_to_float64)
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
                runs.run_eager(
                    self.uncompiled_start(),
                    self.process_state,
                    self.backward,
                    replaying.recording_values(found),
                )
                return operators.find_unmatched(self.compiled, found, dynamo=backend == "eager")
        except Exception:  # then the verdict names no operator
            return None

    # ----------------------------------------------------------------------- the runs

    def eager(self) -> Observation:
        """Make the calls without the compiler, on a copy of the saved start state."""
        return runs.run_eager(self.uncompiled_start(), self.process_state, self.backward)

    def eager_again(self) -> Observation:
        """Make the calls without the compiler, and with a fixed value in all new memory. A result
        that depends on unwritten memory then differs.
        """
        state = self.process_state
        return runs.run_eager(self.start.copy(), state, self.backward, runs.filling_memory())

    def compiled(
        self,
        options: Mapping[str, Any],
        *,
        eager_random: bool = True,
        convert: Convert | None = None,
    ) -> Observation:
        """Compile anew, and make the calls on a copy of the saved start state. `convert` changes
        the floating-point type of the state.
        """
        setup = self.start.copy(convert)
        return runs.run_compiled(setup, self.process_state, self.backward, options, eager_random)

    def reference(self, noisy_runs: int) -> Reference:
        """Make the calls in float64; return NO_REFERENCE if the function does not accept this
        type, or is too slow in it.
        """
        self.float64_end = self.float64_end or time.monotonic() + SECONDS_IN_FLOAT64
        exact, eps = self._run_in_float64()
        noisy: list[Observation] = []
        while len(noisy) < noisy_runs and not (noisy or [exact])[-1].error:
            noisy.append(self._run_in_float64(eps, len(noisy) + 1)[0])
        if error := (noisy or [exact])[-1].error:
            slow = isinstance(error, precision.OutOfTimeError)
            self.no_reference = _TOO_SLOW if slow else _NO_FLOAT64
            return NO_REFERENCE
        return Reference(exact, tuple(noisy), eps)

    def _run_in_float64(self, noise: float = 0.0, seed: int = 0) -> tuple[Observation, float]:
        setup = self.uncompiled_start()
        own_eps, narrow, setup = setup.eps(), setup, setup.copy(_to_float64)
        for (_, leaf), (_, wide) in zip(narrow.state(), setup.state()):
            if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
                precision.set_precision(wide, precision.Precision(torch.finfo(leaf.dtype).eps))
        mode = precision.Float64Mode(noise, seed, self.float64_end)
        seen = runs.run_eager(setup, self.process_state, self.backward, mode)
        self.undeclared.update(mode.undeclared)
        return seen, max(mode.eps, own_eps)

    def uncompiled_start(self) -> Setup:
        """Return a copy of the state from which the calls start."""
        return self.start.copy()


def _to_float64(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double()


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
        findings.eager_zero_error, reason="; ".join(filter(None, (raised, reason))),
        unequal_bits=" and ".join(sorted(findings.bits)), number_error=findings.number_error,
    )  # fmt: skip
