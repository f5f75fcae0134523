"""Choices that only timing on the GPU knows: fixed by the caller, measured before on such a GPU, or
open, and then taken one way and the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tclab.capturing.target.decisions import Decision, decided
from tclab.capturing.target.timing.measured import Measurements
from tclab.model import TimedQuestion
from tclab.targets import TargetError

#: What is chosen, and between which two. The first is what is shown of what is open.
CHOICES = {"pad": ("no", "yes")}


@dataclass
class Asked:
    """What is fixed and what was measured; what was asked so far and is `open`, and what was
    answered as `measured`. Questions of the keys in `otherwise` get the other answer.
    """

    fixed: Mapping[str, str]
    measurements: Measurements
    otherwise: frozenset[str] = frozenset()
    open: dict[TimedQuestion, None] = field(default_factory=dict)
    measured: dict[TimedQuestion, None] = field(default_factory=dict)

    def answer(self, question: TimedQuestion) -> str:
        """The answer to take."""
        if fixed := _assumed(question, self.fixed):
            _note(question, fixed, "assumed, not timed")
            return fixed
        usual = self.measurements.answer(question.key)
        if usual:
            self.measured[question] = None
            if not self.otherwise:
                _note(question, usual, self.measurements.source)
        else:
            self.open[question] = None
        first, second = CHOICES[question.choice]
        shown = usual or first
        other = second if shown == first else first
        return other if question.key in self.otherwise else shown


def _note(question: TimedQuestion, answer: str, source: str) -> None:
    choice = f"{question.choice}={answer}"
    decided(Decision(question.operator, question.place, choice, source))


_asked: list[Asked] = []


@contextmanager
def asking(
    fixed: Mapping[str, str],
    measurements: Measurements,
    otherwise: frozenset[str] = frozenset(),
) -> Iterator[Asked]:
    """For the length of the block, what is asked."""
    _asked.append(Asked(fixed, measurements, otherwise))
    try:
        yield _asked[-1]
    finally:
        _asked.pop()


def answer(question: TimedQuestion) -> str:
    """What to take for a question, in the innermost block of `asking`."""
    return _asked[-1].answer(question)


# ------------------------------------------------------------------------------ assumptions


def _assumed(question: TimedQuestion, fixed: Mapping[str, str]) -> str | None:
    """What a caller fixed for one product, else for all."""
    for name, value in fixed.items():
        choice, _, product = name.partition(":")
        if product and choice == question.choice and product.strip() in str(question):
            return value
    return fixed.get(question.choice)


def checked(assume: Mapping[str, str] | None) -> dict[str, str]:
    """What a caller fixes: ``pad`` for all products, ``pad: mm of [8, 30]`` for those whose
    question says so. TargetError for a choice or an answer there is not.
    """
    fixed = dict(assume or {})
    for name, value in fixed.items():
        if value not in CHOICES.get(name.partition(":")[0], ()):
            known = ", ".join(f"{n}={v}" for n, values in CHOICES.items() for v in values)
            raise TargetError(f"assume {name}={value}", "no such choice", f"known: {known}")
    return fixed
