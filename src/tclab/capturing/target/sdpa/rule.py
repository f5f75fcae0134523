"""A rule of the table, and the table of one PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tclab.capturing.target.sdpa.call import Machine
from tclab.capturing.target.sdpa.checks import Check
from tclab.capturing.target.sdpa.symbolic import UNTIL_2_12, Conditions

HEADER = "aten/src/ATen/native/transformers/sdp_utils_cpp.h"
SOURCE = "aten/src/ATen/native/transformers/cuda/sdp_utils.cpp"
CONTEXT = "aten/src/ATen/Context.h"


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


@dataclass(frozen=True)
class Version:
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
