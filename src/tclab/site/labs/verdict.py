"""Verdicts of a check: the state of each exercise, and whether each of its steps holds."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

#: The state of an exercise. failed: a step does not hold; untouched: the reader has not written it;
#: absent: the file does not define it; lacking: this machine lacks a need of the exercise;
#: unreached: the check ended before it was judged.
State = Literal["passed", "failed", "untouched", "absent", "lacking", "unreached"]


@dataclass(frozen=True)
class StepResult:
    """The result of one step. If it does not hold, `why` says what was observed, and `line` is the
    line of the answer at fault, or 0.
    """

    name: str
    says: str
    holds: bool
    why: str = ""
    line: int = 0
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The verdict on one exercise. `why` is the reason if it could not be judged."""

    exercise: str
    title: str
    state: State
    steps: tuple[StepResult, ...] = ()
    why: str = ""

    @property
    def passed(self) -> bool:
        return self.state == "passed"

    @property
    def first_failed(self) -> StepResult | None:
        """The first step that does not hold, if any, whose hints the reader gets."""
        return next((step for step in self.steps if not step.holds), None)


def encode(verdict: Verdict) -> str:
    """Write a verdict as JSON."""
    return json.dumps(asdict(verdict))


def decode(text: str) -> Verdict:
    """Read a verdict that `encode` wrote."""
    fields = json.loads(text)
    steps = tuple(StepResult(**{**s, "hints": tuple(s["hints"])}) for s in fields.pop("steps"))
    return Verdict(**fields, steps=steps)
