"""What a marked test may compile: whatever it compiles, by itself or through a library."""

from __future__ import annotations

from dataclasses import dataclass

from tclab.baseline import words
from tclab.baseline.observed import Observed


@dataclass(frozen=True)
class Limits:
    """At most so many graph breaks and recompiles in the package `within`, '' for all code; None:
    any number.
    """

    max_breaks: int | None = None
    max_recompiles: int | None = None
    within: str = ""

    def passed(self, of: Observed) -> str:
        """What passes a limit, with every identity; '' where nothing does."""
        lines = [
            *_passed("graph breaks", words.breaks(of), self.max_breaks),
            *_passed("recompiles", words.recompiles(of), self.max_recompiles),
        ]
        return "\n".join([*lines, *words.in_other_code(of)]) if lines else ""


def _passed(what: str, every: list[str], most: int | None) -> list[str]:
    if most is None or len(every) <= most:
        return []
    return [f"{what}: {len(every)}, at most {most}", *(f"  {each}" for each in every)]
