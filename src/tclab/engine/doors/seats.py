"""Workers as the planner sees them, jobs that wait or are away, and what brings the one to the
other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tclab.engine.doors.offers import Wish
from tclab.engine.doors.protocol import Answer
from tclab.engine.doors.tree import Tree
from tclab.engine.job import Job
from tclab.errors import TclabError


@dataclass
class Member:
    """A worker that is there: what it announced, and when it was last heard of (its own clock)."""

    address: str
    offer: Mapping[str, object]
    seen: float = 0.0

    @property
    def name(self) -> str:
        return str(self.offer.get("name") or self.address)


class ClusterLost(TclabError):
    """Nobody can be reached any more."""


class Cluster(Protocol):
    """What brings jobs to workers."""

    place: str
    silence: float  # seconds after which a worker that says nothing counts as lost

    async def members(self) -> list[Member]:
        """Who is there now. ClusterLost."""

    async def give(self, address: str, tree: Tree) -> None:
        """See to it that a worker has a tree. TclabError where it cannot take it."""

    async def send(self, address: str, job: bytes, slots: int, cuda: bool) -> bytes:
        """The answer of a worker. To cancel it is to have the job ended there."""


@dataclass(eq=False)
class Turn:
    """A job that waits or is away."""

    job: Job
    wish: Wish
    seconds: float  # that it took before; of one that is new, more than any other
    lost: int = 0
    unfit: dict[str, str] = field(default_factory=dict)  # worker → why


@dataclass(eq=False)
class Seat:
    """A worker, with what it does for us."""

    member: Member
    fits: dict[str, int] = field(default_factory=dict)  # a wish's key → which environment
    away: dict[asyncio.Task[Answer], Turn] = field(default_factory=dict)
    heard: float = 0.0  # our clock
    aside: float = 0.0  # until then it gets nothing
    silent: bool = False  # nothing was heard of it for too long
    tree: asyncio.Task[None] | None = None

    def takes(self, key: str) -> bool:
        """It has what a wish asks for, and can be spoken to."""
        return self.fits.get(key, -1) >= 0 and not self.silent

    @property
    def slots(self) -> int:
        return int(str(self.member.offer.get("slots", 0)))

    @property
    def machine(self) -> str:
        return str(self.member.offer.get("machine") or self.member.address)
