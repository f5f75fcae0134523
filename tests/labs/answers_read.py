"""The planted answers: right ones of several kinds, and wrong ones with the step that tells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tclab.site.labs import handout
from tclab.site.labs.source import Lab

_CELL = re.compile(r"# %% (?P<exercise>\w+) (?:right|wrong (?P<step>[\w-]+)): (?P<what>.*)")


@dataclass(frozen=True)
class Planted:
    """One answer to one exercise. `step` is the first that must not hold; '' for a right one."""

    exercise: str
    step: str
    what: str
    code: str

    def __str__(self) -> str:
        return f"{self.exercise}: {self.what}"

    def text(self, lab: Lab) -> str:
        """The exercise as it is handed out, with this answer below it."""
        return f"{handout.script(lab)}\n# %%\n{self.code}"


def planted(lab: Lab) -> list[Planted]:
    """Every planted answer of a lab."""
    text = (Path(__file__).parent / "answers" / f"{lab.name}.py").read_text(encoding="utf-8")
    _, *parts = re.split(r"(?m)^(?=# %% )", "\n" + text)
    answers = []
    for part in parts:
        head, _, code = part.partition("\n")
        match = _CELL.match(head)
        assert match, head
        answers.append(Planted(match["exercise"], match["step"] or "", match["what"], code))
    return answers


def solved(lab: Lab) -> str:
    """The lab's own solutions as a reader's file."""
    parts = ("\n# %%\n" + handout.solution(cell) for cell in lab.cells if cell.has_solution)
    return handout.script(lab) + "".join(parts)


def whole(lab: Lab) -> str:
    """The exercise with every solution filled in, in the percent format."""
    code = (handout.solution(cell, claims=False) for cell in lab.cells if cell.kind == "code")
    return "".join(f"\n# %%\n{text}\n" for text in code)
