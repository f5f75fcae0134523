"""Who gets which job, on a cluster that is made up: needs, the longest first, what is lost."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tclab.site.engine import events
from tclab.site.remote import announcements, client, planner, protocol, tree
from tclab.site.remote.client import RunRequest
from tclab.site.remote.planner import RemoteWork
from tclab.site.remote.workers import Member

ENVIRONMENT = {"python": "p", "provenance": {"torch": "2.13.0"}, "has": ["cxx"], "problem": ""}


def offer(name: str, slots: int = 1, **fields) -> dict:
    return {**announcements.announce([ENVIRONMENT], slots, name), "machine": name, **fields}


class Made:
    """A cluster of functions: what each worker answers, and when."""

    place, silence_limit = "made up", 60.0

    def __init__(self, answers, *workers: dict) -> None:
        self.answers = answers
        self.there = {each["name"]: each for each in workers}
        self.sent: list[tuple[str, str]] = []
        self.now: list[tuple[str, str]] = []
        self.most: dict[str, int] = {}

    async def members(self):
        return [Member(name, each, each.get("seen", 0.0)) for name, each in self.there.items()]

    async def send_tree(self, address, tree):
        pass

    async def send_job(self, address, job, slots, cuda):
        import json

        name = json.loads(job)["snippet"]["name"]
        self.sent.append((name, address))
        self.now.append((name, address))
        here = [one for one in self.now if one[1] == address]
        self.most[address] = max(self.most.get(address, 0), len(here))
        try:
            return (await self.answers(name, address)).encode()
        finally:
            self.now.remove((name, address))


def go(lab, cluster, *chosen, seconds=lambda _: 1.0):
    """Run these on it; the work."""
    plan = lab.plan()
    work = RemoteWork(plan, "box", lab.events.append, True, lambda run: None)
    work.cluster, work.tree = cluster, tree.collect(plan.root, chosen)
    request = RunRequest(chosen, "box")
    work.requirements = lambda snippet: request.requirements(snippet, plan)
    asyncio.run(work.run(chosen, seconds))
    return work


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(planner, "_MEMBERS_INTERVAL", 0.05)
    monkeypatch.setattr(planner, "_UNMET_SECONDS", 0.2)
    monkeypatch.setattr(planner, "_PAUSE", 0.05)


@pytest.fixture
def done(lab):
    """What a worker answers that ran a snippet."""
    made = lab.one("print(1)")
    lab.events.clear()

    async def answer(name, address):
        await asyncio.sleep(0.02)
        run = replace(made, snippet=name, environment="box")
        return protocol.Answer("run", run=protocol.pack_run(run))

    return answer


def snippets(lab, number: int, header: str = ""):
    return [lab.write(f"t/n{n}", f"print({n})", header) for n in range(number)]


@pytest.mark.snippet
def test_the_longest_comes_first_and_no_worker_has_more_than_its_slots(lab, done):
    chosen = snippets(lab, 8)
    cluster = Made(done, offer("one", 2), offer("two"))
    work = go(lab, cluster, *chosen, seconds=lambda s: float(s.name[-1]))
    assert sorted(work.done) == [s.name for s in chosen]
    started = [event.snippet for event in lab.heard(events.Started)]
    assert started == [f"t/n{n}" for n in (7, 6, 5, 4, 3, 2, 1, 0)]
    assert cluster.most == {"one": 2, "two": 1}


@pytest.mark.snippet
def test_one_that_is_timed_has_all_workers_of_its_machine_to_itself(lab, done):
    beside: list[list[str]] = []

    async def answer(name, address):
        made = await done(name, address)
        if name == "t/timed":
            beside.append([one[0] for one in cluster.now])
        return made

    cluster = Made(answer, offer("a", machine="m"), offer("b", machine="m"))
    go(lab, cluster, lab.write("t/timed", "1", "alone=true"), *snippets(lab, 3))
    assert beside == [["t/timed"]]


@pytest.mark.snippet
def test_a_worker_has_one_job_of_its_gpu_at_a_time_and_others_beside_it(lab, done):
    beside: list[set[str]] = []

    async def answer(name, address):
        made = await done(name, address)
        beside.append({one[0] for one in cluster.now})
        return made

    gpu = {**ENVIRONMENT, "has": ["cuda"]}
    cluster = Made(answer, {**offer("one", 4), "environments": [gpu]})
    chosen = [lab.write(f"t/gpu{n}", f"print({n})", "needs=cuda") for n in range(3)]
    work = go(lab, cluster, *chosen, *snippets(lab, 3))
    assert len(work.done) == 6
    assert max(len([name for name in now if "gpu" in name]) for now in beside) == 1
    assert any("gpu" in "".join(now) and len(now) > 1 for now in beside)


@pytest.mark.snippet
def test_a_job_whose_workers_are_lost_runs_again_twice_and_then_fails(lab, done):
    chosen = snippets(lab, 2)

    async def answer(name, address):
        if name == "t/n0":
            cluster.there.pop(address)
            cluster.there |= {f"next-{len(cluster.sent)}": offer(f"next-{len(cluster.sent)}")}
            await asyncio.sleep(30)
        return await done(name, address)

    cluster = Made(answer, offer("first"))
    work = go(lab, cluster, *chosen)
    assert work.done["t/n1"].ok
    failure = work.done["t/n0"].failure
    assert failure.cause == "worker"
    assert failure.message.startswith("3 workers could not run it; last next-")
    assert "it left the cluster" in failure.message
    assert len([one for one in cluster.sent if one[0] == "t/n0"]) == 3
    assert len(lab.heard(events.Rescheduled)) == 2


@pytest.mark.snippet
def test_a_worker_that_says_nothing_is_passed_over(lab, done):
    async def answer(name, address):
        if address == "silent":
            await asyncio.sleep(30)
        return await done(name, address)

    class Beating(Made):
        silence_limit = 0.4

        async def members(self):
            if "other" in self.there:
                self.there["other"]["seen"] = self.there["other"].get("seen", 0.0) + 1
            return await super().members()

    cluster = Beating(answer, offer("silent"))

    def heard(event):
        lab.events.append(event)
        if isinstance(event, events.Started):
            cluster.there.setdefault("other", offer("other"))

    plan = lab.plan()
    chosen = snippets(lab, 1)
    work = RemoteWork(plan, "box", heard, True, lambda run: None)
    work.cluster, work.tree = cluster, tree.collect(plan.root, chosen)
    asyncio.run(work.run(chosen, lambda _: 1.0))
    assert work.done["t/n0"].ok
    assert cluster.sent == [("t/n0", "silent"), ("t/n0", "other")]
    (event,) = lab.heard(events.Rescheduled)
    assert event.why.startswith("it has said nothing for")


@pytest.mark.snippet
def test_where_all_workers_hang_the_rest_is_refused_by_name(lab):
    async def answer(name, address):
        await asyncio.sleep(30)

    cluster = Made(answer, offer("a"))
    cluster.silence_limit = 0.4
    work = go(lab, cluster, *snippets(lab, 2))
    assert work.refused == dict.fromkeys(("t/n0", "t/n1"), "a: it says nothing any more")


@pytest.mark.snippet
def test_what_one_worker_refuses_another_may_run(lab, done):
    async def answer(name, address):
        if address == "small" or name == "t/n1":
            return protocol.Answer("refused", "no numpy")
        return await done(name, address)

    cluster = Made(answer, offer("small"), offer("large"))
    work = go(lab, cluster, *snippets(lab, 2))
    assert work.done["t/n0"].ok
    assert "no numpy" in work.refused["t/n1"]
    assert lab.heard(events.Refused)[0].why == work.refused["t/n1"]


@pytest.mark.snippet
def test_a_worker_that_joins_is_used_and_a_need_waits_a_moment_for_it(lab, done):
    chosen = snippets(lab, 2, "needs=cuda")
    cluster = Made(done, offer("plain"))
    began = []

    def heard(event):
        began.append(event)
        if isinstance(event, events.Planned):
            gpu = {**ENVIRONMENT, "has": ["cuda"]}
            cluster.there["gpu"] = {**offer("gpu"), "environments": [gpu]}

    plan = lab.plan()
    work = RemoteWork(plan, "box", heard, True, lambda run: None)
    work.cluster, work.tree = cluster, tree.collect(plan.root, chosen)
    work.requirements = lambda snippet: RunRequest(chosen, "box").requirements(snippet, plan)
    asyncio.run(work.run(chosen, lambda _: 1.0))
    assert work.refused == {}
    assert {address for _, address in cluster.sent} == {"gpu"}
    assert cluster.most == {"gpu": 1}


@pytest.mark.snippet
def test_a_snippet_that_another_build_runs_is_waited_for(lab, done):
    (snippet,) = snippets(lab, 1)
    lock = lab.store.lock(snippet.name)

    def heard(event):
        lab.events.append(event)
        if isinstance(event, events.Waiting):
            lock.release()

    plan = lab.plan()
    work = RemoteWork(plan, "box", heard, True, lambda run: None)
    work.cluster, work.tree = Made(done, offer("a")), tree.collect(plan.root, [snippet])
    asyncio.run(work.run([snippet], lambda _: 1.0))
    assert work.done[snippet.name].ok
    assert len(lab.heard(events.Waiting)) == 1


@pytest.mark.snippet
def test_what_ran_before_says_how_long_it_takes(lab):
    old, new = snippets(lab, 2)
    made = lab.run(old)[old.name]
    plan = lab.plan()
    assert client.last_seconds(plan, old) == made.seconds
    assert client.last_seconds(plan, new) == float("inf")
