"""Run snippets on a Dask cluster, as `tclab.site.engine.schedule` runs them on this machine."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from tclab.errors import StoreError
from tclab.model import Run, Snippet
from tclab.site.engine import events
from tclab.site.engine.events import OnEvent
from tclab.site.engine.plan import Plan
from tclab.site.engine.work import SaveRun
from tclab.site.remote import addresses, cluster, protocol, tree
from tclab.site.remote.announcements import Requirements
from tclab.site.remote.planner import RemoteWork
from tclab.site.remote.workers import Cluster
from tclab.system import machine

_LOCAL = re.compile(r"local:([1-9]\d{0,2})")


@dataclass(frozen=True)
class ClusterAddress:
    """The address of a Dask cluster: ``local:4``, ``tcp://127.0.0.1:8786``, ``tls://…``."""

    address: str
    insecure: bool = False

    @classmethod
    def from_option(cls, on: str | None, *, insecure: bool = False) -> ClusterAddress | None:
        """Return the address in `on`, else in TCLAB_ON; None if neither names a cluster."""
        address = on or os.environ.get("TCLAB_ON", "")
        return cls(address, insecure) if address else None

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Cluster]:
        """Connect to the cluster. Raises TclabError if the address is not allowed or nothing
        answers.
        """
        number = _LOCAL.fullmatch(self.address)
        address = "tcp://127.0.0.1:1" if number else self.address
        addresses.check_address(address, insecure=self.insecure)
        connection = cluster.start_local(int(number[1])) if number else cluster.connect(address)
        async with connection as connected:
            yield connected


@dataclass(frozen=True)
class RunRequest:
    """The snippets to run for one environment.

    For this machine's environment (``here``) a worker must be of the same kind. It must also have a
    C++ compiler if this machine has one, because compiling for a CPU needs one. For a recording, a
    worker must have what the snippet needs, a PyTorch whose version begins with `torch`, and a GPU
    whose name contains `gpu`.
    """

    snippets: Sequence[Snippet]
    environment: str = "here"
    force: bool = False
    keep: SaveRun | None = None
    torch: str = ""
    gpu: str = ""

    def requirements(self, snippet: Snippet, plan: Plan) -> Requirements:
        """Return the requirements of this snippet on a worker."""
        like, needs = None, snippet.needs
        if self.environment == "here":
            like = plan.here.for_snippet(snippet)
            needs = needs | {"cxx"} if machine.has_cxx() else needs
        return Requirements(
            needs, snippet.memory, self.torch, self.gpu, like, snippet.alone, snippet.sees_gpu
        )


@dataclass
class Outcome:
    """The outcome of a request: the runs by snippet, and the reason for each snippet that no worker
    could run.
    """

    runs: dict[str, Run] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def run(
    snippets: Iterable[Snippet],
    plan: Plan,
    address: ClusterAddress,
    *,
    on_event: OnEvent = events.ignore_event,
    force: bool = False,
    keep: SaveRun | None = None,
) -> Outcome:
    """Run snippets as `schedule.run` does, on the workers of a cluster."""
    request = RunRequest(list(snippets), force=force, keep=keep)
    return run_all([request], plan, address, on_event=on_event)[0]


def run_all(
    requests: Sequence[RunRequest],
    plan: Plan,
    address: ClusterAddress,
    *,
    on_event: OnEvent = events.ignore_event,
) -> list[Outcome]:
    """Run several requests in order on one cluster. Raises StoreFailed if a run could not be
    kept.
    """
    works = [
        RemoteWork(
            plan, request.environment, on_event, request.force, request.keep or plan.store.save
        )
        for request in requests
    ]
    todo = [_snippets_to_run(work, request) for work, request in zip(works, requests)]
    if any(todo):
        variables = protocol.variables_to_send()
        project_tree = tree.collect(plan.root, itertools.chain(*todo))
        for work, request in zip(works, requests):
            work.tree, work.variables = project_tree, variables
            work.requirements = partial(request.requirements, plan=plan)
        asyncio.run(_run(works, todo, address, plan))
    return [
        Outcome(work.results(s.name for s in request.snippets), work.refused)
        for work, request in zip(works, requests)
    ]


def _snippets_to_run(work: RemoteWork, request: RunRequest) -> list[Snippet]:
    if request.environment != "here":
        return list(request.snippets)
    machine.check_torch()
    return [snippet for snippet in request.snippets if work.needs_run(snippet)]


async def _run(
    works: list[RemoteWork], todo: list[list[Snippet]], address: ClusterAddress, plan: Plan
) -> None:
    async with address.connect() as connected:
        for work, snippets in zip(works, todo):
            work.cluster = connected
            if snippets:
                await work.run(snippets, lambda snippet: last_seconds(plan, snippet))


def last_seconds(plan: Plan, snippet: Snippet) -> float:
    """Return the seconds of the snippet's last run or recording; infinity if it never ran."""
    try:
        kept = [plan.local_status(snippet), *plan.recorded_statuses(snippet)]
    except StoreError:
        kept = []
    return next((one.head.run.seconds for one in kept if one.head), float("inf"))
