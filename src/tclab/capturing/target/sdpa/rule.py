"""A rule of the table, a backend's list of them, and the table of one PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tclab.capturing.target.sdpa.call import Call, Machine
from tclab.capturing.target.sdpa.symbolic import UNTIL_2_12, Conditions

HEADER = "aten/src/ATen/native/transformers/sdp_utils_cpp.h"
SOURCE = "aten/src/ATen/native/transformers/cuda/sdp_utils.cpp"

Check = Callable[[Call, Machine], bool]


@dataclass(frozen=True)
class Rule:
    """One condition of one backend: what it is about, the C++ function it follows, the check."""

    about: str
    function: str
    check: Check
    file: str = SOURCE

    @property
    def place(self) -> str:
        """File and function in PyTorch's source."""
        return f"{self.file}: {self.function}"


def rule(about: str, function: str, file: str = SOURCE) -> Callable[[Check], Rule]:
    """Makes the decorated check a rule."""
    return lambda check: Rule(about, function, check, file)


class Rules(tuple[Rule, ...]):
    """A backend's rules in the order of its source. ValueError for a change of one not in it."""

    __slots__ = ()

    def insert_after(self, rule: Rule, new: Rule) -> Rules:
        """With a new rule after one of these."""
        after = self.index(rule) + 1
        return Rules((*self[:after], new, *self[after:]))

    def replace(self, rule: Rule, new: Rule) -> Rules:
        """With another rule in the place of one of these."""
        at = self.index(rule)
        return Rules((*self[:at], new, *self[at + 1 :]))


@dataclass(frozen=True)
class AttentionRules:
    """All rules of one PyTorch, each backend's in the order of the source.

    `commit` is that of the release's tag, `conditions` how one on symbolic sizes is answered;
    `unbatched` whether inputs of three dimensions get a batch of one before they are judged.
    """

    torch: tuple[int, int]
    commit: str
    prefers_cudnn: Callable[[Machine], bool]
    rules: dict[str, tuple[Rule, ...]] = field(default_factory=dict)
    conditions: Conditions = UNTIL_2_12
    unbatched: bool = False

    @property
    def name(self) -> str:
        """The version as text."""
        return ".".join(map(str, self.torch))
