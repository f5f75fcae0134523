"""Answer the choices that Inductor would make by timing on the GPU.

A choice gets the answer that the caller fixed, else the answer measured earlier on such a GPU, else
the likely answer. If the caller asks for both answers, the choice is open, and the code for both
answers is compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tclab.capturing.target.decisions import Decision, note_decision
from tclab.capturing.target.timing.measured import Measurements
from tclab.errors import BadRequest
from tclab.model import TimedQuestion
from tclab.model.kernels import LIKELY
from tclab.targets import TargetError

#: Kind of choice → its two answers, the likely one first.
CHOICES = {choice: (likely, "yes" if likely == "no" else "no") for choice, likely in LIKELY.items()}
#: A caller's assumption that asks for both answers to be compiled.
BOTH = "both"


@dataclass
class TimedChoices:
    """The answers for one compile of a graph, and a record of its questions.

    `fixed` are the caller's assumptions. A question for which the caller asks for both answers is
    added to `open`. A question that `measurements` answer is added to `measured`, and any other
    question to `likely`. `asked` are all of them. Questions whose key is in `flipped_keys` get the
    other answer.
    """

    fixed: Mapping[str, str]
    measurements: Measurements
    flipped_keys: frozenset[str] = frozenset()
    asked: dict[TimedQuestion, None] = field(default_factory=dict)
    open: dict[TimedQuestion, None] = field(default_factory=dict)
    measured: dict[TimedQuestion, None] = field(default_factory=dict)
    likely: dict[TimedQuestion, None] = field(default_factory=dict)

    def answer(self, question: TimedQuestion) -> str:
        """Answer a question, ``yes`` or ``no``, and record it."""
        self.asked[question] = None
        fixed = _find_assumption(question, self.fixed)
        if fixed and fixed != BOTH:
            _note_answer(question, fixed, "assumed, not timed")
            return fixed
        first, second = CHOICES[question.choice]
        shown = first if fixed else self._measured_or_likely(question)
        other = second if shown == first else first
        if fixed:
            self.open[question] = None
        return other if question.key in self.flipped_keys else shown

    def _measured_or_likely(self, question: TimedQuestion) -> str:
        measured = self.measurements.answer(question.key)
        if not measured:
            self.likely[replace(question, doubt=self.measurements.doubt(question.key))] = None
            return LIKELY[question.choice]
        self.measured[question] = None
        if not self.flipped_keys:
            _note_answer(question, measured, self.measurements.source)
        return measured


def _note_answer(question: TimedQuestion, answer: str, source: str) -> None:
    choice = f"{question.choice}={answer}"
    note_decision(Decision(question.operator, question.place, choice, source))


_active: list[TimedChoices] = []


@contextmanager
def answering_questions(
    assumptions: Mapping[str, str],
    measurements: Measurements,
    flipped_keys: frozenset[str] = frozenset(),
) -> Iterator[TimedChoices]:
    """Answer the questions asked within the block; yield a TimedChoices that records them."""
    _active.append(TimedChoices(assumptions, measurements, flipped_keys))
    try:
        yield _active[-1]
    finally:
        _active.pop()


def answer_question(question: TimedQuestion) -> str:
    """Answer a question, ``yes`` or ``no``, in the innermost block of `answering_questions`."""
    return _active[-1].answer(question)


# ------------------------------------------------------------------------------ assumptions


def _find_assumption(question: TimedQuestion, assumptions: Mapping[str, str]) -> str | None:
    """Return the answer that the caller fixed for this product or for all products; None if there
    is none.
    """
    for name, value in assumptions.items():
        if ":" in name and _is_named(question, name):
            return value
    return assumptions.get(question.choice)


def _is_named(question: TimedQuestion, name: str) -> bool:
    choice, _, product = name.partition(":")
    return choice == question.choice and product.strip() in str(question)


def require_products(assumptions: Mapping[str, str], asked: Iterable[TimedQuestion]) -> None:
    """Raise BadRequest if an assumption names a product that is none of those asked about."""
    for name, value in assumptions.items():
        if ":" in name and not any(_is_named(question, name) for question in asked):
            known = ", ".join(dict.fromkeys(f"'{q.choice}: {q.operator}'" for q in asked))
            cause = "no matrix product that the GPU would time has this name"
            step = f"name one of these, or a part of one: {known}" if known else "leave it out"
            raise BadRequest(f"assume {name}={value}", cause, step)


def check_assumptions(assume: Mapping[str, str] | None) -> dict[str, str]:
    """Check and copy a caller's assumptions. ``pad`` is for all products, ``pad: mm of [8, 30]``
    for the products whose question contains this text; the answer may be ``both``. Raises
    TargetError for an unknown choice or answer.
    """
    fixed = dict(assume or {})
    for name, value in fixed.items():
        if value not in (*CHOICES.get(name.partition(":")[0], ()), BOTH):
            known = ", ".join(f"{n}={v}" for n, vs in CHOICES.items() for v in (*vs, BOTH))
            raise TargetError(f"assume {name}={value}", "no such choice", f"known: {known}")
    return fixed
