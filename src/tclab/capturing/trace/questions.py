"""What only the GPU could have answered, by timing, while a compile for it ran."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """One thing the GPU would time: of which kind, for which operator, on the user's line."""

    choice: str
    operator: str
    place: str

    def __str__(self) -> str:
        return f"{self.choice}: {self.operator}, {self.place}"
