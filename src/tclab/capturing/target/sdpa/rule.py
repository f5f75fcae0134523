"""Define a rule of attention, the rules of a backend, and all rules of one PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tclab.capturing.target.sdpa.call import Call, Machine
from tclab.capturing.target.sdpa.symbolic import UNTIL_2_12, ConditionEvaluator

HEADER = "aten/src/ATen/native/transformers/sdp_utils_cpp.h"
SOURCE = "aten/src/ATen/native/transformers/cuda/sdp_utils.cpp"

Check = Callable[[Call, Machine], bool]


@dataclass(frozen=True)
class Rule:
    """One condition of one backend.

    `about` names the condition, `function` is the C++ function in `file` whose condition `check`
    repeats.
    """

    about: str
    function: str
    check: Check
    file: str = SOURCE

    @property
    def place(self) -> str:
        """The file and the function in PyTorch's source."""
        return f"{self.file}: {self.function}"


def rule(about: str, function: str, file: str = SOURCE) -> Callable[[Check], Rule]:
    """Decorate a check to make it a rule."""
    return lambda check: Rule(about, function, check, file)


class Rules(tuple[Rule, ...]):
    """The rules of a backend, in the order of PyTorch's source.

    The methods raise ValueError if the rule to change is not among them.
    """

    __slots__ = ()

    def insert_after(self, rule: Rule, new: Rule) -> Rules:
        """Return a copy with the rule `new` right after `rule`."""
        after = self.index(rule) + 1
        return Rules((*self[:after], new, *self[after:]))

    def replace(self, rule: Rule, new: Rule) -> Rules:
        """Return a copy with the rule `new` in place of `rule`."""
        index = self.index(rule)
        return Rules((*self[:index], new, *self[index + 1 :]))


@dataclass(frozen=True)
class AttentionRules:
    """All rules of one PyTorch; the rules of each backend are in the order of the source.

    `commit` is the commit of the release's tag. `evaluator` evaluates conditions on symbolic
    sizes. With `unbatched`, inputs of three dimensions get a batch of one before the rules are
    applied.
    """

    torch: tuple[int, int]
    commit: str
    prefers_cudnn: Callable[[Machine], bool]
    rules: dict[str, tuple[Rule, ...]] = field(default_factory=dict)
    evaluator: ConditionEvaluator = UNTIL_2_12
    unbatched: bool = False

    @property
    def name(self) -> str:
        """The version as text, such as ``2.13``."""
        return ".".join(map(str, self.torch))
