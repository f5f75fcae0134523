"""Define the artifact that holds the decision of Inductor's scheduler on each pair of its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from tclab.model.artifacts import Artifact, SourceLine
from tclab.model.codec import kind

#: The possible outcomes for a pair. It was fused; the scheduler refused it; or it could have been
#: fused, but the scheduler fused other pairs, most often one with the same node.
VERDICTS = ("fused", "refused", "possible")

#: Inductor's reason for a pair that shares no buffer in the same order of access.
NOTHING_SHARED = "no shared data"


@kind("scheduled-node")
@dataclass(frozen=True)
class ScheduledNode:
    """A scheduler node. `computes` are the names of the FX nodes that it computes, and `locations`
    are the source lines of these nodes.
    """

    kind: ClassVar[str]
    name: str  # e.g. op0
    computes: tuple[str, ...] = ()
    locations: tuple[SourceLine, ...] = ()


@kind("fusion-pair")
@dataclass(frozen=True)
class FusionPair:
    """Two scheduler nodes, or groups fused earlier, that the scheduler considered as a pair.

    `shared` maps each buffer that both access in the same order to its bytes. `before` and `after`
    are the bytes of memory that the two move as separate kernels and as one kernel; None if not
    known. `reason` is the reason that Inductor gives. If Inductor gives no reason, `declined_by`
    names the function of the code generator that refused, if one did. `round` is the number, from
    1, of the scheduler's round.
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
        """Bytes of all shared buffers."""
        return sum(self.shared.values())

    @property
    def saved(self) -> int | None:
        """Bytes of memory traffic that fusion saved; None if the pair was not fused."""
        is_known = self.before is not None and self.after is not None
        return (self.before or 0) - (self.after or 0) if is_known else None

    @property
    def ops(self) -> frozenset[str]:
        """The nodes of both sides."""
        return frozenset((*self.first, *self.second))


@kind("fusion-pairs")
@dataclass(frozen=True)
class FusionPairs(Artifact):
    """The scheduler's decision on each pair. `groups` are the final groups of node names."""

    nodes: tuple[ScheduledNode, ...] = ()
    pairs: tuple[FusionPair, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    compile_id: str = ""

    def select_pairs(self, verdict: str) -> tuple[FusionPair, ...]:
        """Return the pairs with this verdict, one of VERDICTS."""
        return tuple(pair for pair in self.pairs if pair.verdict == verdict)

    def pair(self, first: str, second: str) -> FusionPair:
        """Return the pair of two groups, each named like ``op0_op1``. Raises KeyError if there is
        none.
        """
        for pair in self.pairs:
            if ("_".join(pair.first), "_".join(pair.second)) == (first, second):
                return pair
        raise KeyError(f"{first} with {second} was not considered")

    def share_group(self, pair: FusionPair) -> bool:
        """Return whether both sides of the pair are in one final group."""
        return any(pair.ops <= set(group) for group in self.groups)
