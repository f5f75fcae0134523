"""Versions of PyTorch, compared as numbers, and clauses on them such as ``torch >= 2.13``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_NUMBERS = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?")
_BOUND = re.compile(r"torch\s*(?P<operator>>=|<=|<|>|==)\s*(?P<version>\d+\.\d+)")
_OPERATORS: Mapping[str, Callable[[tuple[int, int], tuple[int, int]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
}


@dataclass(frozen=True, order=True)
class Version:
    """A version of PyTorch. ``2.9`` is before ``2.13``, and ``2.13`` is ``2.13.0+cpu``.

    A build of the main branch (``2.15.0.dev20261101``, ``2.15.0a0+git1f2e``) has the numbers of
    the release that comes of it.
    """

    major: int
    minor: int
    patch: int = 0
    public: str = field(default="", compare=False)  # 2.13.0 of 2.13.0+cpu

    @classmethod
    def of(cls, text: str) -> Version:
        """The version written as ``2.13``, or as ``torch.__version__``; 0.0.0 of other text."""
        match = _NUMBERS.match(text)
        major, minor, patch = (int(n or 0) for n in match.groups()) if match else (0, 0, 0)
        return cls(major, minor, patch, text.partition("+")[0])

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor: what PyTorch's behaviour, and so each table of ours, goes by."""
        return self.major, self.minor

    @property
    def short(self) -> str:
        """The release as text: ``2.13``; '' where there was no version."""
        return f"{self.major}.{self.minor}" if self.public else ""


@dataclass(frozen=True)
class Clause:
    """A condition on the release, ``torch >= 2.12, torch < 2.14``: all its bounds must hold.

    Without a bound it always holds. `str` gives it as it is written and stored.
    """

    bounds: tuple[tuple[str, Version], ...] = ()  # operator and version

    @classmethod
    def of(cls, text: str) -> Clause:
        """The clause that a text says; ValueError names the bound that cannot be read."""
        return cls(tuple(_bound(part.strip()) for part in text.split(",")) if text else ())

    def holds(self, version: Version) -> bool:
        """Whether this version is one of those meant."""
        return all(_OPERATORS[sign](version.release, than.release) for sign, than in self.bounds)

    def __str__(self) -> str:
        return ", ".join(f"torch {sign} {than.short}" for sign, than in self.bounds)


def _bound(text: str) -> tuple[str, Version]:
    match = _BOUND.fullmatch(text)
    if match is None:
        raise ValueError(f"cannot read the clause {text!r}")
    return match["operator"], Version.of(match["version"])
