"""What a reader has passed, and which hints they were given: a small file beside their answers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tclab import files
from tclab.labs.verdict import Verdict

FILE = "lab-progress.json"


@dataclass
class Progress:
    """What was passed, by lab, and how many hints each step has given. Read from `path`."""

    path: Path
    passed: dict[str, list[str]] = field(default_factory=dict)
    hints: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> Progress:
        """That of a folder. One that cannot be read is begun anew, and the old one is kept."""
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

    def note(self, lab: str, verdicts: Iterable[Verdict]) -> None:
        """Take what a check said; what it did not reach stays as it was."""
        passed = set(self.passed.get(lab, ()))
        for verdict in verdicts:
            if verdict.passed:
                passed.add(verdict.exercise)
            elif verdict.state != "unreached":
                passed.discard(verdict.exercise)
        self.passed[lab] = sorted(passed)

    def hint(self, lab: str, verdict: Verdict) -> str:
        """The next hint of the first step that does not hold; the last one again at the end."""
        step = verdict.first_failed
        if step is None or not step.hints:
            return ""
        key = f"{lab}.{verdict.exercise}.{step.name}"
        count = self.hints.get(key, 0)
        self.hints[key] = min(count + 1, len(step.hints))
        number = min(count, len(step.hints) - 1)
        return f"hint {number + 1} of {len(step.hints)}: {step.hints[number]}"

    def save(self) -> bool:
        """Write it; False where the folder cannot be written, which costs nothing else."""
        text = json.dumps({"passed": self.passed, "hints": self.hints}, indent=1) + "\n"
        try:
            files.replace(self.path, text)
        except OSError:
            return False
        return True
