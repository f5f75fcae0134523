"""What a check found: of each exercise how it stands, and of each step whether it holds."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

#: passed; failed: a step does not hold; untouched: still as it was handed out; absent: nothing of
#: that name is there; lacking: this machine has not what it needs; unreached: the check ended
#: before.
State = Literal["passed", "failed", "untouched", "absent", "lacking", "unreached"]


@dataclass(frozen=True)
class StepResult:
    """One step. `why` says what was seen where it does not hold, and `line` is the one of the
    answer that it is about, 0 for none.
    """

    name: str
    says: str
    holds: bool
    why: str = ""
    line: int = 0
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """One exercise. `why` says what keeps it from being judged."""

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
        """The step whose hints are given."""
        return next((step for step in self.steps if not step.holds), None)


def encode(verdict: Verdict) -> str:
    """A verdict as text."""
    return json.dumps(asdict(verdict))


def decode(text: str) -> Verdict:
    """The inverse of `encode`."""
    fields = json.loads(text)
    steps = tuple(StepResult(**{**s, "hints": tuple(s["hints"])}) for s in fields.pop("steps"))
    return Verdict(**fields, steps=steps)
