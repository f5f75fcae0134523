"""Define the verdict on compiled results, which are compared with those of eager PyTorch, and the
values that differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tclab.model.artifacts import SourceLine
from tclab.model.codec import kind

#: Up to this number of units in the last place, the distance is shown; above it, the relative
#: error.
_FEW_ULPS = 4
#: The verdicts of an `Agreement`.
EQUAL, DIFFERS, RANDOM, UNKNOWN = "equal", "differs", "random", "not compared"
#: The stage of a difference that the compiled code itself asks for.
OWN_BRANCH = "the code itself, which asks torch.compiler.is_compiling()"


@kind("difference")
@dataclass(frozen=True)
class Difference:
    """One value in which compiled code differs from eager.

    `where` names the value, such as ``output 0 of call 2`` or ``the argument x``; `what` is the
    property that differs: values, dtype, shape, strides, type, aliasing, requires_grad, exception.
    `eager` and `compiled` are the values of this property on the two sides. If the values differ,
    they differ in `elements` of `total` elements, in `rows` of the `all_rows` rows (first
    dimension). `error` is the largest error of the compiled result, and `eager_error` is the
    largest error of eager's result. Both errors are those against the same function in float64,
    relative to its largest value. They are None if float64 was not computed.
    """

    kind: ClassVar[str]
    where: str
    what: str
    eager: str = ""
    compiled: str = ""
    elements: int = 0
    total: int = 0
    rows: int = 0
    all_rows: int = 0
    error: float | None = None
    eager_error: float | None = None

    def __str__(self) -> str:
        """Name the value and what differs: ``output 0, 7 of 8 rows``."""
        if self.what != "values":
            return f"the {self.what} of {self.where}: {self.compiled}, eager {self.eager}"
        if not self.total:
            return f"{self.where}: {self.compiled}, eager {self.eager}"
        if self.rows < self.all_rows and self.elements * self.all_rows == self.rows * self.total:
            return f"{self.where}, {self.rows} of {self.all_rows} rows"
        elements = f"{self.elements} of {self.total} elements" if self.total > 1 else self.compiled
        return f"{self.where}, {elements}"


@kind("agreement")
@dataclass(frozen=True)
class Agreement:
    """The outcome of comparing the compiled results with eager's; `verdict` is one of the verdicts
    above.

    If the results are equal, `ulps` is the largest distance between two of them, in units in the
    last place. `relative` and `eager_error` are the largest errors of the compiled and of eager's
    results against float64, relative to the largest value; None if float64 was not needed.
    `zero_error` and `eager_zero_error` are the absolute errors of results that are 0 but for
    rounding, such as a gradient whose terms cancel. If the results differ, `stage` is the first
    stage of the compiler with different results, and `operator` and `line` are the first operator
    with a different result. `way` is a change that was tried and that removes the difference. Each
    of these fields is empty if nothing was found for it. `undeclared` names the argument that
    `operator`, a custom one, writes to and does not declare. `reason` says why there is no verdict,
    or what limits the verdict. `unequal_bits` names equal values whose bits are not equal, such as
    zeros with another sign. `number_error` is the largest relative distance of numbers of Python.
    """

    kind: ClassVar[str]
    verdict: str = UNKNOWN
    ulps: int = 0
    relative: float | None = None
    eager_error: float | None = None
    zero_error: float | None = None
    eager_zero_error: float | None = None
    differences: tuple[Difference, ...] = ()
    stage: str = ""
    operator: str = ""
    line: SourceLine | None = None
    way: str = ""
    reason: str = ""
    undeclared: str = ""
    unequal_bits: str = ""
    number_error: float = 0.0

    def __str__(self) -> str:
        """Describe the verdict in a line: ``differs from eager: output 0, 7 of 8 rows, line
        12``.
        """
        limit = f" ({self.reason})" if self.reason else ""
        if self.verdict == EQUAL:
            return f"equal to eager, {self._format_distances()}{limit}"
        if self.verdict == DIFFERS:
            return f"differs from eager: {self._format_first()}{limit}"
        if self.verdict == RANDOM:
            return f"random, not comparable with eager{limit}"
        return f"not compared with eager: {self.reason}"

    def _format_distances(self) -> str:
        numbers = f"{self.number_error:.1e}" if self.number_error else ""
        if self.ulps:
            distance = self._format_distance()
            return f"{distance}, and numbers of Python to {numbers}" if numbers else distance
        numbers = numbers and f"numbers of Python, equal to {numbers}"
        but = " and ".join(filter(None, (self.unequal_bits, numbers)))
        return f"to the bit but for {but}" if but else "to the bit"

    def _format_distance(self) -> str:
        if self.zero_error is not None:
            eager = f" (eager's own error: {self.eager_zero_error:.1e})"
            zero = f"to {self.zero_error:.1e} where all values are 0 but for rounding{eager}"
            if self.relative is None or self.eager_error is None:
                return zero
            return f"{_format_relative(self.relative, self.eager_error)}, and {zero}"
        if self.relative is None or self.eager_error is None:
            near = f"to {self.ulps} ulp{'s' * (self.ulps > 1)}"
            return near if self.ulps <= _FEW_ULPS else "within rounding of the largest value"
        return _format_relative(self.relative, self.eager_error)

    def _format_first(self) -> str:
        more = len(self.differences) - 1
        pieces = [f"{self.differences[0]}" + (f", and {more} more" if more else "")]
        if self.line is not None:
            pieces.append(f"line {self.line.line}")
        if self.undeclared:
            pieces.append(f"where {self.operator} writes to its argument {self.undeclared}, which "
                          "it does not declare")  # fmt: skip
        elif self.stage:
            pieces.append(f"first in {self.stage}")
        return ", ".join(pieces)

    @property
    def next_step(self) -> str:
        """The advice to the reader on a difference; '' if there is no difference."""
        if self.verdict != DIFFERS:
            return ""
        if any(
            each.what == "exception" and each.compiled == "nothing" for each in self.differences
        ):
            return "correct what eager raises for; the compiled code went on without that error"
        if self.undeclared:
            return f"declare it: mutates_args=({self.undeclared!r},) (not tried)"
        if self.way:
            return f"{self.way}: tried, and it is equal to eager then"
        none_is_equal = "report it to PyTorch; no other mode was equal to eager"
        return _STEPS.get(self.stage, none_is_equal)


#: If eager's error is more than this many times the compiled code's, the compiled code rounds less
#: often.
_ROUNDING_RATIO = 8
#: If the compiled code's error is more than this many times eager's, and more than this number,
#: then only the rounding of the function's coarsest type explains it.
_COARSE_RATIO, _COARSE_ERROR = 64, 1e-4

_STEPS = {
    "Dynamo": "leave the function out of the compile with torch.compiler.disable (not tried); "
    "every backend gets what Dynamo makes",
    OWN_BRANCH: "the compiled result is as the code says for that case; nothing is wrong with the "
    "compile",
}


def _format_relative(error: float, eager_error: float) -> str:
    """Return the compiled code's error from float64 beside eager's."""
    if eager_error > _ROUNDING_RATIO * error:
        return (
            f"within eager's own rounding: eager is {eager_error:.1e} from float64, and the "
            f"compiled code, which rounds less often, {error:.1e}"
        )
    if error > max(_COARSE_ERROR, _COARSE_RATIO * eager_error):
        return (
            f"within rounding of its coarsest type, but the compiled code is {error:.1e} from "
            f"float64, and eager {eager_error:.1e}"
        )
    return f"to {error:.1e} (eager's own error: {eager_error:.1e})"
