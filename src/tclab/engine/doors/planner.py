"""Which worker gets which job: by needs, longest first, a timed one alone on its machine.

A cluster brings jobs to workers and their answers back, and says who is there (`seats.Cluster`).
What is decided here is what it cannot know: that workers share a machine, that a need nobody has
is not to be waited for, how often a lost job runs again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from tclab.engine import events, schedule
from tclab.engine.doors import offers, protocol
from tclab.engine.doors.offers import Wish
from tclab.engine.doors.protocol import Answer
from tclab.engine.doors.seats import Cluster, ClusterLost, Member, Seat, Turn
from tclab.engine.doors.tree import Tree
from tclab.engine.job import Job
from tclab.engine.work import Work
from tclab.errors import StoreError
from tclab.model import Run, Snippet
from tclab.store import keys

_LOOK = 0.5  # seconds between two looks at who is there
_POLL = 0.05  # seconds between two looks at whether anything can start, where nothing runs
_PATIENCE = 3.0  # seconds that a need waits for a worker that has it
_AGAIN = 2  # times that a job runs again whose worker was lost
_STARTING = 420.0  # seconds beyond its limit that a job may be away: a start, and warming
_ASIDE = 30.0  # seconds without jobs for a worker that could not do one


@dataclass
class Far(Work):
    """Work on the workers of a cluster."""

    cluster: Cluster | None = None
    tree: Tree | None = None
    variables: dict[str, str] = field(default_factory=dict)
    wish: Callable[[Snippet], Wish] = lambda _: Wish()
    torch: str = ""
    warm: bool = False
    seats: dict[str, Seat] = field(default_factory=dict)
    queues: dict[str, list[Turn]] = field(default_factory=dict)  # by wish; the longest is the last
    wishes: dict[str, Wish] = field(default_factory=dict)
    locked: list[Turn] = field(default_factory=list)  # that another build runs
    unmet: dict[str, float] = field(default_factory=dict)  # wish → since when nobody has it
    refused: dict[str, str] = field(default_factory=dict)  # snippet → why
    machines: dict[str, list[Seat]] = field(default_factory=dict)
    returned: list[tuple[Seat, asyncio.Task[Answer]]] = field(default_factory=list)
    back: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, snippets: Iterable[Snippet], seconds: Callable[[Snippet], float]) -> None:
        """Run all of them that a worker fits; `refused` has the others."""
        for snippet in snippets:
            job = Job(snippet, self.plan, self.environment, solo=snippet.alone)
            self._queue(Turn(job, self.wish(snippet), seconds(snippet)))
        assert self.cluster is not None
        watching = None
        try:
            self._look(await self.cluster.members())
            watching = asyncio.create_task(self._watch())
            slots = sum(seat.slots for seat in self.seats.values())
            total = sum(map(len, self.queues.values()))
            self.on_event(events.Planned(total=total, jobs=slots))
            self.warm = self._worth_warming()
            while self._busy():
                if watching.done():
                    watching.result()  # raises what ended it
                await self._turn()
        finally:
            if watching is not None:
                watching.cancel()
            await self._leave()

    async def _watch(self) -> None:
        """Look at who is there, beside all else: a scheduler may be slow to say."""
        assert self.cluster is not None
        while True:
            await asyncio.sleep(_LOOK)
            self._look(await self.cluster.members())
            self.back.set()

    def _busy(self) -> bool:
        return self._away_now() or bool(self.locked) or any(self.queues.values())

    def _away_now(self) -> bool:
        return any(seat.away for seat in self.seats.values())

    def _queue(self, turn: Turn) -> None:
        self.wishes[turn.wish.key] = turn.wish
        queue = self.queues.setdefault(turn.wish.key, [])
        insort(queue, turn, key=lambda each: each.seconds)

    def _worth_warming(self) -> bool:
        every = [turn.job.snippet for queue in self.queues.values() for turn in queue]
        return schedule.worth_warming(every, max(1, len(self.seats)))

    async def _turn(self) -> None:
        self._fill()
        with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
            await asyncio.wait_for(self.back.wait(), _LOOK if self._away_now() else _POLL)
        self.back.clear()
        returned, self.returned = self.returned, []
        for seat, task in returned:
            if turn := seat.away.pop(task, None):
                self._returned(seat, turn, task)

    async def _leave(self) -> None:
        tasks = [task for seat in self.seats.values() for task in seat.away]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for seat in self.seats.values():
            for turn in seat.away.values():
                turn.job.release()

    # ------------------------------------------------------------------ who is there

    def _look(self, there: Iterable[Member]) -> None:
        """See who came, who went and who says nothing; refuse what nobody has."""
        assert self.cluster is not None
        members = {member.address: member for member in there}
        now = time.monotonic()
        for address in self.seats.keys() - members.keys():
            seat = self.seats.pop(address)
            self.machines[seat.machine].remove(seat)
            self._gone(seat, "it left the cluster")
        for address, member in members.items():
            known = self.seats.get(address)
            if known is None:
                seat = self.seats[address] = Seat(member, heard=now)
                self.machines.setdefault(seat.machine, []).append(seat)
                self._fit(seat)
            elif known.member.seen != member.seen:
                known.heard, known.member, known.silent = now, member, False
            elif now - known.heard > self.cluster.silence and not known.silent:
                known.silent = True
                self._gone(known, f"it has said nothing for {now - known.heard:.0f} s")
        for turn in self.locked:
            self._queue(turn)
        self.locked = []
        self._refuse_unmet(now)

    def _fit(self, seat: Seat) -> None:
        for key, wish in self.wishes.items():
            seat.fits[key], _ = offers.lacks(seat.member.offer, wish)

    def _gone(self, seat: Seat, why: str) -> None:
        """Nothing more is heard of a worker: its jobs run elsewhere."""
        for task, turn in list(seat.away.items()):
            task.cancel()
            self._lost(seat, turn, why)
        seat.away.clear()

    def _refuse_unmet(self, now: float) -> None:
        for key, queue in self.queues.items():
            if not queue or any(seat.takes(key) for seat in self.seats.values()):
                self.unmet.pop(key, None)
            elif now - self.unmet.setdefault(key, now) >= _PATIENCE:
                why = self._why_nobody(queue[0].wish)
                for turn in queue:
                    self._refuse(turn, why)
                queue.clear()

    def _why_nobody(self, wish: Wish) -> str:
        if not self.seats:
            return "there is no worker"
        reasons: dict[str, list[str]] = {}
        for seat in self.seats.values():
            why = offers.lacks(seat.member.offer, wish)[1] or "it says nothing any more"
            reasons.setdefault(why, []).append(seat.member.name)
        return "; ".join(f"{_some(names)}: {why}" for why, names in reasons.items())

    def _refuse(self, turn: Turn, why: str) -> None:
        turn.job.release()
        self.refused[turn.job.name] = why
        self.on_event(events.Refused(turn.job.name, why=why))

    # ------------------------------------------------------------------ who gets what

    def _fill(self) -> None:
        """Give every worker that can take one a job, in rounds, so that all get some."""
        now = time.monotonic()
        ready = [s for s in self.seats.values() if s.aside < now and not s.silent]
        while ready:
            ready = [seat for seat in ready if self._give(seat)]

    def _give(self, seat: Seat) -> bool:
        if len(seat.away) >= seat.slots:
            return False
        beside = [turn for one in self.machines[seat.machine] for turn in one.away.values()]
        if any(turn.job.solo for turn in beside):
            return False
        cuda = any("cuda" in turn.job.snippet.needs for turn in seat.away.values())
        turn = self._next(seat, alone=False, cuda=not cuda)
        if turn is None and not beside:
            turn = self._next(seat, alone=True, cuda=True)
        if turn is None:
            return False
        if not self.take_lock(turn.job):
            self.locked.append(turn)
        elif not self.take_others(turn.job):
            self._start(seat, turn)
        return True

    def _next(self, seat: Seat, *, alone: bool, cuda: bool) -> Turn | None:
        """The longest job for a worker, out of its queue."""
        best: tuple[float, list[Turn], int] | None = None
        for key, queue in self.queues.items():
            if not queue or queue[0].wish.alone != alone or seat.fits.get(key, -1) < 0:
                continue
            if "cuda" in queue[0].wish.needs and not cuda:
                continue
            place = next(
                (n for n in reversed(range(len(queue)))
                 if seat.member.address not in queue[n].unfit), None
            )  # fmt: skip
            if place is not None and (best is None or queue[place].seconds > best[0]):
                best = queue[place].seconds, queue, place
        return best[1].pop(best[2]) if best else None

    # ------------------------------------------------------------------ one job

    def _start(self, seat: Seat, turn: Turn) -> None:
        self.on_event(events.Started(turn.job.name, worker=seat.member.name))
        task = asyncio.create_task(self._away(seat, turn))
        seat.away[task] = turn
        task.add_done_callback(lambda done: self._note(seat, done))

    def _note(self, seat: Seat, task: asyncio.Task[Answer]) -> None:
        self.returned.append((seat, task))
        self.back.set()

    async def _away(self, seat: Seat, turn: Turn) -> Answer:
        """The answer to a job, or what befell it."""
        assert self.cluster is not None
        assert self.tree is not None
        address, snippet = seat.member.address, turn.job.snippet
        if seat.tree is None:
            seat.tree = asyncio.create_task(self.cluster.give(address, self.tree))
        await asyncio.shield(seat.tree)
        data = protocol.job(
            snippet,
            self.tree.names,
            tree=self.tree.digest,
            environment=self.environment,
            torch=turn.wish.torch,
            on=seat.fits[turn.wish.key],
            variables=self.variables,
            cache=protocol.cache_name(self.plan),
            warm=self.warm,
        )
        slots = seat.slots if snippet.alone else 1
        sent = self.cluster.send(address, protocol.dumped(data), slots, "cuda" in snippet.needs)
        return Answer.of(await asyncio.wait_for(sent, snippet.timeout + _STARTING))

    def _returned(self, seat: Seat, turn: Turn, task: asyncio.Task[Answer]) -> None:
        try:
            answer = task.result()
        except ClusterLost:
            turn.job.release()
            raise
        except (asyncio.TimeoutError, TimeoutError):
            seat.silent = True  # until it is heard of, which a worker that hangs may well be
            seat.aside = time.monotonic() + _STARTING
            self._lost(seat, turn, "it gave no answer in time")
            return
        except Exception as error:  # whatever a worker's Python raises
            answer = Answer("trouble", f"{type(error).__name__}: {error}".splitlines()[0])
            seat.tree = None
        if answer.kind == "run":
            self._take(seat, turn, answer)
        elif answer.kind == "refused":
            self._unfit(seat, turn, answer.why)
        else:
            seat.aside = time.monotonic() + _ASIDE
            turn.unfit[seat.member.address] = answer.why or answer.kind
            self._lost(seat, turn, answer.why or answer.kind)

    def _take(self, seat: Seat, turn: Turn, answer: Answer) -> None:
        try:
            run = protocol.unpacked(answer.run, turn.job.name, self.environment)
        except StoreError as error:
            self._lost(seat, turn, f"its run is damaged: {error.cause}")
            return
        self.finish(turn.job, run, worker=seat.member.name)

    def _unfit(self, seat: Seat, turn: Turn, why: str) -> None:
        """This worker cannot run it; another one may."""
        turn.unfit[seat.member.address] = why
        turn.job.release()
        if self._elsewhere(turn):
            self._queue(turn)
        else:
            self._refuse(turn, f"{seat.member.name}: {why}")

    def _elsewhere(self, turn: Turn) -> bool:
        """Some worker is there that may run it."""
        key = turn.wish.key
        there = (a for a, seat in self.seats.items() if seat.takes(key))
        return any(address not in turn.unfit for address in there)

    def _lost(self, seat: Seat, turn: Turn, why: str) -> None:
        """Its worker was lost, or could do nothing: again elsewhere, at most twice."""
        turn.job.release()
        turn.lost += 1
        where = f"{seat.member.name}: {why}"
        hopeless = turn.unfit and not self._elsewhere(turn)
        if turn.lost <= _AGAIN and not hopeless:
            self.on_event(events.Elsewhere(turn.job.name, worker=seat.member.name, why=why))
            self._queue(turn)
            return
        times = f"{turn.lost} workers" if turn.lost > 1 else "a worker"
        made = replace(turn.job.lost(""), source_key=keys.source_key(turn.job.snippet))
        step = f"see to {seat.member.name}, then: tclab run {turn.job.name}"
        run: Run = protocol.failed(made, "worker", f"{times} could not run it; last {where}", step)
        self.finish(turn.job, run, worker=seat.member.name)


def _some(names: list[str]) -> str:
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")
