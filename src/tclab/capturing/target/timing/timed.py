"""Choices that only timing on the GPU knows: fixed by the caller, or taken one way and then the
other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tclab.capturing.target.decisions import Decision, decided
from tclab.model import TimedQuestion
from tclab.targets import TargetError

#: What is chosen, and between which two. The first is what is shown.
CHOICES = {"pad": ("no", "yes")}


@dataclass
class Asked:
    """What is fixed, which of the two is taken otherwise, and what was asked so far."""

    fixed: Mapping[str, str]
    second: bool = False
    questions: dict[TimedQuestion, None] = field(default_factory=dict)

    def answer(self, question: TimedQuestion) -> str:
        """The answer to take; noted as asked unless the caller fixed it."""
        if fixed := self.fixed.get(question.choice):
            what = f"{question.choice}={fixed}"
            decided(Decision(question.operator, question.place, what, "assumed, not timed"))
            return fixed
        self.questions[question] = None
        return CHOICES[question.choice][int(self.second)]


_asked: list[Asked] = []


@contextmanager
def asking(
    fixed: Mapping[str, str], *, second: bool = False
) -> Iterator[dict[TimedQuestion, None]]:
    """For the length of the block, what is asked, in order: the keys of what is yielded."""
    _asked.append(Asked(fixed, second))
    try:
        yield _asked[-1].questions
    finally:
        _asked.pop()


def answer(question: TimedQuestion) -> str:
    """What to take for a question, in the innermost block of `asking`."""
    return _asked[-1].answer(question)


def checked(assume: Mapping[str, str] | None) -> dict[str, str]:
    """What a caller fixes; TargetError for a choice or an answer there is not."""
    fixed = dict(assume or {})
    for name, value in fixed.items():
        if value not in CHOICES.get(name, ()):
            known = ", ".join(f"{n}={v}" for n, values in CHOICES.items() for v in values)
            raise TargetError(f"assume {name}={value}", "no such choice", f"known: {known}")
    return fixed
