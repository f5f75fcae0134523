"""Define versions of PyTorch, which are compared as numbers, and version clauses such as ``torch >=
2.13``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

_NUMBERS = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?")
_BOUND = re.compile(r"torch\s*(?P<operator>>=|<=|<|>|==)\s*(?P<version>\d+(?:\.\d+)?)")
_OPERATORS: Mapping[str, Callable[[tuple[int, int], tuple[int, int]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
}


@dataclass(frozen=True, order=True)
class Version:
    """A version of PyTorch. ``2.9`` is less than ``2.13``, and ``2.13`` equals ``2.13.0+cpu``.

    A build of the main branch (``2.15.0.dev20261101``, ``2.15.0a0+git1f2e``) has the numbers of
    the next release.
    """

    major: int
    minor: int
    patch: int = 0
    public: str = field(default="", compare=False)  # the part before the +: 2.13.0

    @classmethod
    def parse(cls, text: str) -> Version:
        """Parse ``2.13`` or a ``torch.__version__``. A text without a version gives 0.0.0."""
        match = _NUMBERS.match(text)
        major, minor, patch = (int(n or 0) for n in match.groups()) if match else (0, 0, 0)
        return cls(major, minor, patch, text.partition("+")[0])

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor version. Only these two decide PyTorch's behaviour and tclab's tables."""
        return self.major, self.minor

    @property
    def short(self) -> str:
        """The release as text: ``2.13``; '' if there is no version."""
        return f"{self.major}.{self.minor}" if self.public else ""


@dataclass(frozen=True)
class Clause:
    """A condition on the release, such as ``torch >= 2.12, torch < 2.14``. All bounds must hold.

    A clause without bounds always holds. `str` returns the text that snippets and files use.
    """

    bounds: tuple[tuple[str, Version], ...] = ()  # (operator, version)

    @classmethod
    def parse(cls, text: str) -> Clause:
        """Parse the text of a clause. Raises ValueError for a bound that cannot be parsed, or for
        bounds that no release meets together.
        """
        bounds = tuple(_parse_bound(part.strip()) for part in text.split(",")) if text else ()
        clause = cls(bounds)
        if bounds and not any(map(clause.holds, clause._list_edges())):
            raise ValueError(f"no PyTorch meets {clause}")
        return clause

    def _list_edges(self) -> Iterator[Version]:
        """Yield each bound's release and the two releases next to it. If none of these releases
        meets the clause, no release does.
        """
        for _, bound in self.bounds:
            for minor in (bound.minor - 1, bound.minor, bound.minor + 1):
                yield Version(bound.major, minor)

    def holds(self, version: Version) -> bool:
        """Return whether the release of `version` meets all bounds."""
        return all(_OPERATORS[sign](version.release, bound.release) for sign, bound in self.bounds)

    def __str__(self) -> str:
        return ", ".join(f"torch {sign} {bound.short}" for sign, bound in self.bounds)


def _parse_bound(text: str) -> tuple[str, Version]:
    match = _BOUND.fullmatch(text)
    if match is None:
        raise ValueError(f"cannot read the clause {text!r}")
    return match["operator"], Version.parse(match["version"])
