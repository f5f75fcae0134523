"""A case: one function or model at one size, and the modes it is measured in. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Ways to run a function that every machine has; the first is what the others are held against.
EAGER = "eager"
DEFAULT = "default"
GRAPHS = "reduce-overhead"
AUTOTUNE = "max-autotune"
DESCENT = "coordinate-descent"
DYNAMIC = "dynamic"


@dataclass(frozen=True)
class Case:
    """`builder` is ``module:function`` in `tclab.catalog`; it is called with the device and
    `size`, and returns a `Subject`. `needs` are packages that may be missing.

    `name` is ``family/what@size``; `phase` is ``kernel``, ``inference`` or ``training``.
    """

    name: str
    builder: str
    phase: str
    modes: tuple[str, ...]
    size: Mapping[str, int | str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()

    @property
    def what(self) -> str:
        """The name without its size."""
        return self.name.partition("@")[0]
