"""What Inductor's scheduler decided on each pair of its nodes, as an artifact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from tclab.model.artifacts import Artifact, SourceLine
from tclab.model.codec import kind

#: What became of a pair: it was fused; it was refused; it could have been fused and was not, since
#: another pair with one of the two was taken, most often.
VERDICTS = ("fused", "refused", "possible")

#: What Inductor says of a pair that reads and writes nothing in the same order.
NOTHING_SHARED = "no shared data"


@kind("scheduled-node")
@dataclass(frozen=True)
class ScheduledNode:
    """A node of the scheduler: the nodes of the graph it `computes`, and the lines of these."""

    kind: ClassVar[str]
    name: str  # e.g. op0
    computes: tuple[str, ...] = ()
    locations: tuple[SourceLine, ...] = ()


@kind("fusion-pair")
@dataclass(frozen=True)
class FusionPair:
    """Two nodes, or groups of nodes that were fused before, that the scheduler considered.

    `shared` are bytes by buffer: what both read or write in the same order. `before` and `after`
    are the bytes of memory that the two move alone, and together; None where that is not known.
    `reason` is Inductor's own; where it gives none, `declined_by` names the function of the code
    generator that refused, if one did. `round` counts from 1.
    """

    kind: ClassVar[str]
    first: tuple[str, ...]
    second: tuple[str, ...]
    verdict: str  # one of VERDICTS
    reason: str = ""
    declined_by: str = ""
    shared: Mapping[str, int] = field(default_factory=dict)
    before: int | None = None
    after: int | None = None
    round: int = 1

    @property
    def bytes(self) -> int:
        """Bytes of all that is shared."""
        return sum(self.shared.values())

    @property
    def saved(self) -> int | None:
        """Bytes of memory traffic that fusing the pair saved; None where it was not fused."""
        known = self.before is not None and self.after is not None
        return (self.before or 0) - (self.after or 0) if known else None

    @property
    def ops(self) -> frozenset[str]:
        """The nodes of both sides."""
        return frozenset((*self.first, *self.second))


@kind("fusion-pairs")
@dataclass(frozen=True)
class FusionPairs(Artifact):
    """What the scheduler decided on each pair; `groups` are its nodes as they are in the end."""

    nodes: tuple[ScheduledNode, ...] = ()
    pairs: tuple[FusionPair, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    compile_id: str = ""

    def of(self, verdict: str) -> tuple[FusionPair, ...]:
        """The pairs with this one of VERDICTS."""
        return tuple(pair for pair in self.pairs if pair.verdict == verdict)

    def pair(self, first: str, second: str) -> FusionPair:
        """The pair of two groups by their names, as ``op0_op1``. KeyError if not considered."""
        for pair in self.pairs:
            if ("_".join(pair.first), "_".join(pair.second)) == (first, second):
                return pair
        raise KeyError(f"{first} with {second} was not considered")

    def together(self, pair: FusionPair) -> bool:
        """Whether both sides are in one group in the end."""
        return any(pair.ops <= set(group) for group in self.groups)
