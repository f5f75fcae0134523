"""One function at several levels of operators, each call with the call it was made from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from tclab.model.artifacts import Artifact, SourceLine
from tclab.model.codec import kind


@kind("level-call")
@dataclass(frozen=True)
class LevelCall:
    """A call of an operator. `origin` names the call of the level above that it was made from;
    '' at the first level, whose calls have a `location`.
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
        """The operator of each call."""
        return tuple(call.operator for call in self.calls)

    @property
    def counts(self) -> dict[str, int]:
        """How often each operator is called."""
        return dict(Counter(self.operators))


@kind("levels")
@dataclass(frozen=True)
class Levels(Artifact):
    """One function, level by level, from the highest to the lowest."""

    levels: tuple[Level, ...] = ()

    def __getitem__(self, label: str) -> Level:
        return next(level for level in self.levels if level.label == label)

    def below(self, label: str, name: str) -> tuple[LevelCall, ...]:
        """What a call becomes at the next level, in order; nothing at the last one."""
        at = [level.label for level in self.levels].index(label) + 1
        if at == len(self.levels):
            return ()
        return tuple(call for call in self.levels[at].calls if call.origin == name)
