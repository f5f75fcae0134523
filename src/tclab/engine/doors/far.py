"""Run snippets on other machines: as `tclab.engine.schedule`, through a door."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from tclab import machine
from tclab.engine import events
from tclab.engine.doors import addresses, cluster, protocol, tree
from tclab.engine.doors.offers import Wish
from tclab.engine.doors.planner import Far
from tclab.engine.doors.seats import Cluster
from tclab.engine.events import OnEvent
from tclab.engine.plan import Plan
from tclab.engine.work import Keep
from tclab.errors import StoreError, TclabError
from tclab.model import Run, Snippet

_LOCAL = re.compile(r"local:([1-9]\d{0,2})")


@dataclass(frozen=True)
class Door:
    """A cluster of Dask's: ``local:4``, ``tcp://127.0.0.1:8786``, ``tls://…``."""

    on: str
    insecure: bool = False

    @classmethod
    def given(cls, on: str | None, *, insecure: bool = False) -> Door | None:
        """The one that is named here, or in TCLAB_ON; None: run here."""
        named = on or os.environ.get("TCLAB_ON", "")
        return cls(named, insecure) if named else None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Cluster]:
        """The cluster. TclabError where it may not, or cannot, be reached."""
        number = _LOCAL.fullmatch(self.on)
        address = "tcp://127.0.0.1:1" if number else self.on
        addresses.check(address, insecure=self.insecure)
        opened = cluster.local(int(number[1])) if number else cluster.reached(address)
        async with opened as there:
            yield there


@dataclass(frozen=True)
class Errand:
    """What is to be run for one environment. A run of this machine (``here``) is made by a worker
    of the same kind alone; it has a C++ compiler where this machine has one, since what compiles
    on a CPU takes it for granted. One for a recording is made by any that has what the snippet
    needs, a PyTorch whose version begins with `torch`, and a GPU whose name has `gpu`.
    """

    snippets: Sequence[Snippet]
    environment: str = "here"
    force: bool = False
    keep: Keep | None = None
    torch: str = ""
    gpu: str = ""

    def wish(self, snippet: Snippet, plan: Plan) -> Wish:
        """What one of its snippets asks of a worker."""
        made, needs = None, snippet.needs
        if self.environment == "here":
            made, needs = plan.here.of(snippet), needs | {"cxx"} if machine.has_cxx() else needs
        sees_gpu = snippet.sees_gpu
        return Wish(needs, snippet.memory, self.torch, self.gpu, made, snippet.alone, sees_gpu)


@dataclass
class Outcome:
    """The runs there are, and what no worker could run, with why."""

    runs: dict[str, Run] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def run(
    snippets: Iterable[Snippet],
    plan: Plan,
    door: Door,
    *,
    on_event: OnEvent = events.silent,
    force: bool = False,
    keep: Keep | None = None,
) -> Outcome:
    """As `schedule.run`, on the workers behind a door."""
    errand = Errand(list(snippets), force=force, keep=keep)
    return run_all([errand], plan, door, on_event=on_event)[0]


def run_all(
    errands: Sequence[Errand], plan: Plan, door: Door, *, on_event: OnEvent = events.silent
) -> list[Outcome]:
    """Several, one after the other, on one cluster. StoreFailed where a run could not be kept."""
    works = [
        Far(plan, each.environment, on_event, each.force, each.keep or plan.store.save)
        for each in errands
    ]
    todo = [_todo(work, each) for work, each in zip(works, errands)]
    if any(todo):
        variables, of = protocol.sent_variables(), tree.of(plan.root, itertools.chain(*todo))
        for work, each in zip(works, errands):
            work.tree, work.variables = of, variables
            work.wish = partial(each.wish, plan=plan)
        asyncio.run(_run(works, todo, door, plan))
    return [
        Outcome(work.results(s.name for s in each.snippets), work.refused)
        for work, each in zip(works, errands)
    ]


def _todo(work: Far, errand: Errand) -> list[Snippet]:
    if errand.environment != "here":
        return list(errand.snippets)
    machine.check_torch()
    return [snippet for snippet in errand.snippets if work.needs_run(snippet)]


async def _run(works: list[Far], todo: list[list[Snippet]], door: Door, plan: Plan) -> None:
    async with door.opened() as there:
        for work, snippets in zip(works, todo):
            work.cluster = there
            if snippets:
                await work.run(snippets, lambda snippet: seconds(plan, snippet))


def seconds(plan: Plan, snippet: Snippet) -> float:
    """How long the snippet took when it ran last, here or where it was recorded; of one that never
    ran, more than any other.
    """
    try:
        kept = [plan.live(snippet), *plan.recordings(snippet)]
    except StoreError:
        kept = []
    return next((one.head.run.seconds for one in kept if one.head), float("inf"))


def check_all_ran(outcome: Outcome, words: Iterable[str]) -> None:
    """TclabError where one that was named could run nowhere."""
    if list(words) and outcome.refused:
        name, why = next(iter(outcome.refused.items()))
        step = "start a worker that has it: tclab worker ADDRESS; or run on this machine"
        raise TclabError(f"snippets/{name}.py", f"no worker can run it: {why}", step)
