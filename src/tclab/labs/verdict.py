"""What a check found: of each exercise how it stands, and of each step whether it holds."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

#: passed; failed: a step does not hold; untouched: still as it was handed out; absent: nothing of
#: that name is there; tampered: the file changed what judges it; lacking: this machine has not what
#: it needs; unreached: the check ended before.
State = Literal["passed", "failed", "untouched", "absent", "tampered", "lacking", "unreached"]


@dataclass(frozen=True)
class StepResult:
    """One step. `why` says what was seen where it does not hold."""

    name: str
    says: str
    held: bool
    why: str = ""
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
        return next((step for step in self.steps if not step.held), None)


def encode(verdict: Verdict, token: str) -> str:
    """A verdict as text, with the token that only the judge was given."""
    return json.dumps({"token": token, "verdict": asdict(verdict)})


def decode(text: str, token: str) -> Verdict | None:
    """The verdict in a text; None for one that the judge did not write."""
    data: dict[str, Any] = json.loads(text)
    if data.get("token") != token:
        return None
    fields = data["verdict"]
    steps = tuple(StepResult(**{**s, "hints": tuple(s["hints"])}) for s in fields.pop("steps"))
    return Verdict(**fields, steps=steps)
