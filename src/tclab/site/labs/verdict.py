"""Define the verdicts of a check: the state of each exercise, and whether each of its steps
holds.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

#: The state of an exercise. passed: all steps hold; failed: a step does not hold; untouched: it has
#: no solution yet; absent: the file does not define it; lacking: this machine lacks something that
#: the exercise needs; unreached: the check ended before the exercise was judged.
State = Literal["passed", "failed", "untouched", "absent", "lacking", "unreached"]


@dataclass(frozen=True)
class StepResult:
    """The result of one step. If the step does not hold, `why` says what was observed, and `line`
    is the line of the answer that is at fault, or 0.
    """

    name: str
    says: str
    holds: bool
    why: str = ""
    line: int = 0
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The verdict on one exercise. If the exercise could not be judged, `why` is the reason."""

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
        """The first step that does not hold, whose hints the reader gets; None if all steps
        hold.
        """
        return next((step for step in self.steps if not step.holds), None)


def encode(verdict: Verdict) -> str:
    """Write a verdict as JSON."""
    return json.dumps(asdict(verdict))


def decode(text: str) -> Verdict:
    """Read a verdict that `encode` wrote."""
    fields = json.loads(text)
    steps = tuple(StepResult(**{**s, "hints": tuple(s["hints"])}) for s in fields.pop("steps"))
    return Verdict(**fields, steps=steps)
