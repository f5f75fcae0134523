"""Define a case: one function or model at one size, and its modes. This module imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Modes in addition to EAGER, DEFAULT and GRAPHS of `tclab.model`.
AUTOTUNE = "max-autotune"
DESCENT = "coordinate-descent"
DYNAMIC = "dynamic"


@dataclass(frozen=True)
class Case:
    """One function or model at one size.

    `name` is ``family/what@size``; `phase` is ``kernel``, ``inference`` or ``training``. `builder`
    is ``module:function`` in the catalogue; called with the device and `size` it returns a
    `Subject`. `needs` are packages that may be missing.
    """

    name: str
    builder: str
    phase: str
    modes: tuple[str, ...]
    size: Mapping[str, int | str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()

    @property
    def what(self) -> str:
        """The name without its size: ``family/what``."""
        return self.name.partition("@")[0]
