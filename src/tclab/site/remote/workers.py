"""Define the planner's view: workers, queued jobs, and the cluster that connects them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tclab.errors import TclabError
from tclab.site.engine.job import Job
from tclab.site.remote.announcements import Requirements
from tclab.site.remote.protocol import Answer
from tclab.site.remote.tree import Tree


@dataclass
class Member:
    """A connected worker: its announcement, and the cluster's time of its last heartbeat."""

    address: str
    announcement: Mapping[str, object]
    last_heartbeat: float = 0.0

    @property
    def name(self) -> str:
        return str(self.announcement.get("name") or self.address)


class ClusterLost(TclabError):
    """The connection to the scheduler was lost."""


class Cluster(Protocol):
    """Lists workers, and sends them trees and jobs."""

    place: str
    silence_limit: float  # seconds without a heartbeat after which a worker counts as lost

    async def members(self) -> list[Member]:
        """Return the connected workers. Raises ClusterLost if the scheduler is gone."""

    async def send_tree(self, address: str, tree: Tree) -> None:
        """Send a worker the tree if the worker does not have it. Raises TclabError if the worker
        cannot keep it.
        """

    async def send_job(self, address: str, job: bytes, slots: int, cuda: bool) -> bytes:
        """Send a job and return the encoded answer. If this call is cancelled, the job ends on the
        worker.
        """


@dataclass(eq=False)
class QueuedJob:
    """A job that waits for a worker, or runs on one."""

    job: Job
    requirements: Requirements
    seconds: float  # seconds of the snippet's last run; infinity if it never ran
    failures: int = 0  # the number of times that a worker was lost or could not run the job
    refusals: dict[str, str] = field(default_factory=dict)  # worker's address → reason


@dataclass(eq=False)
class WorkerState:
    """The state of a worker, with the jobs that it runs for this client."""

    member: Member
    #: Key of requirements → index of the environment that meets them, or -1.
    environment_by_key: dict[str, int] = field(default_factory=dict)
    running: dict[asyncio.Task[Answer], QueuedJob] = field(default_factory=dict)
    heartbeat_at: float = 0.0  # time.monotonic() of this process
    paused_until: float = 0.0  # time until which the worker gets no job
    silent: bool = False  # whether the worker's last heartbeat is too long ago
    tree: asyncio.Task[None] | None = None

    def can_run(self, key: str) -> bool:
        """Return whether the worker meets the requirements with this key, and is not silent."""
        return self.environment_by_key.get(key, -1) >= 0 and not self.silent

    @property
    def slots(self) -> int:
        return int(str(self.member.announcement.get("slots", 0)))

    @property
    def machine(self) -> str:
        return str(self.member.announcement.get("machine") or self.member.address)
