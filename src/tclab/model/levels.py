"""Define the calls of a function at several levels of operators, each with its origin one level
above.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from tclab.model.artifacts import Artifact, SourceLine
from tclab.model.codec import kind


@kind("level-call")
@dataclass(frozen=True)
class LevelCall:
    """One call of an operator. `origin` is the name of the call at the level above from which this
    call came. At the first level `origin` is '' and the call has a `location` instead.
    """

    kind: ClassVar[str]
    name: str  # e.g. add_1, unique in its level
    operator: str  # e.g. aten.add.Tensor
    origin: str = ""
    shape: tuple[str, ...] | None = None
    dtype: str = ""  # f32, bf16, i64 …
    location: SourceLine | None = None


@kind("level")
@dataclass(frozen=True)
class Level:
    """The calls at one level, in order."""

    kind: ClassVar[str]
    label: str  # e.g. Core ATen
    calls: tuple[LevelCall, ...] = ()

    @property
    def operators(self) -> tuple[str, ...]:
        """The operator of each call, in order."""
        return tuple(call.operator for call in self.calls)

    @property
    def counts(self) -> dict[str, int]:
        """Operator → the number of its calls."""
        return dict(Counter(self.operators))


@kind("levels")
@dataclass(frozen=True)
class Levels(Artifact):
    """One function at several levels of operators, the highest level first."""

    levels: tuple[Level, ...] = ()

    def __getitem__(self, label: str) -> Level:
        return next(level for level in self.levels if level.label == label)

    def calls_below(self, label: str, name: str) -> tuple[LevelCall, ...]:
        """Return the calls at the next level that came from the call `name` of the level `label`,
        in order; () at the last level.
        """
        next_level = [level.label for level in self.levels].index(label) + 1
        if next_level == len(self.levels):
            return ()
        return tuple(call for call in self.levels[next_level].calls if call.origin == name)
