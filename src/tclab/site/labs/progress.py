"""Keep a reader's progress: exercises passed and hints given, in a file beside the answers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tclab.site.labs.verdict import Verdict
from tclab.system import files

FILE = "lab-progress.json"


@dataclass
class Progress:
    """Names of the passed exercises by lab, and the number of hints given by step."""

    path: Path
    passed: dict[str, list[str]] = field(default_factory=dict)
    hints: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Progress:
        """Read the progress kept in a folder. If the file is unreadable, rename it and start with
        no progress.
        """
        progress = cls(folder / FILE)
        try:
            data = json.loads(progress.path.read_text(encoding="utf-8"))
            progress.passed = {str(k): [str(e) for e in v] for k, v in data["passed"].items()}
            progress.hints = {str(k): int(v) for k, v in data["hints"].items()}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            progress.path.replace(progress.path.with_suffix(".unreadable"))
        return progress

    def update(self, lab: str, verdicts: Iterable[Verdict]) -> None:
        """Record the verdicts of a check. Exercises that the check did not reach keep their
        state.
        """
        passed = set(self.passed.get(lab, ()))
        for verdict in verdicts:
            if verdict.passed:
                passed.add(verdict.exercise)
            elif verdict.state != "unreached":
                passed.discard(verdict.exercise)
        self.passed[lab] = sorted(passed)

    def next_hint(self, lab: str, verdict: Verdict) -> str:
        """Return the next hint for the first failed step; after the last hint, return the last one
        again.
        """
        step = verdict.first_failed
        if step is None or not step.hints:
            return ""
        key = f"{lab}.{verdict.exercise}.{step.name}"
        count = self.hints.get(key, 0)
        self.hints[key] = min(count + 1, len(step.hints))
        number = min(count, len(step.hints) - 1)
        return f"hint {number + 1} of {len(step.hints)}: {step.hints[number]}"

    def save(self) -> bool:
        """Write the file; return False if that is not possible. A check works without the file."""
        text = json.dumps({"passed": self.passed, "hints": self.hints}, indent=1) + "\n"
        try:
            files.replace(self.path, text)
        except OSError:
            return False
        return True
