"""Measure the cost of a job on each transport, and the limits of a cluster's scheduler.

``PYTHONPATH=src python -m benchmarks.doors [overhead] [simulation] [--out FILE]``, on loopback:

- *overhead*: snippets that print a line, one at a time, by the pool of this machine, by Dask with
  one worker, and as a bundle; seconds a job, and bytes that travel once and with each job;
- *simulation*: Dask's own scheduler, this project's planner, and workers that sleep as long as the
  runs in the store took, in a process of their own: seconds to the end against the bound, which is
  the longest job, or all of them over the workers. Many workers on few cores: so times are divided
  by a number that makes the bound some seconds, and a row has the jobs a second that came of it.

``--out records/doors.json`` keeps the rows, for the chapter.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import sleeping
from tclab.model import Run, Snippet
from tclab.site import snippets
from tclab.site.engine import events, schedule
from tclab.site.engine.plan import Plan
from tclab.site.remote import bundle, client, cluster, protocol, tars, tree
from tclab.site.remote.planner import RemoteWork
from tclab.site.store import checksums, run_files
from tclab.site.store.local_runs import Store
from tclab.system import machine
from tclab.system.project import project_root

ROOT = project_root()

FEW = 40

#: Jobs, workers, and the bound in seconds, which is longer for many jobs on few workers: a job
#: would otherwise take less time than its transport.
SIMULATED = (
    *((285, workers, 20.0) for workers in (1, 8, 64, 256)),
    *((10_000, 1, 300.0), (10_000, 8, 120.0), (10_000, 64, 60.0), (10_000, 256, 60.0)),
)

Row = dict[str, Any]


def main() -> int:
    """Measure, and print a line for each row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.doors")
    parser.add_argument("parts", nargs="*", default=["overhead", "simulation"])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="tclab-doors-") as folder:
        for part in options.parts:
            for row in {"overhead": overhead, "simulation": simulation}[part](Path(folder)):
                print(json.dumps(row), flush=True)
                rows.append(row)
    if options.out:
        made = dataclasses.asdict(machine.here({}))
        options.out.write_text(json.dumps({"machine": made, "rows": rows}, indent=1) + "\n")
        checksums.write(options.out)
    return 0


# --------------------------------------------------------------------------- overhead


class Times:
    """Collects the time at which each of the runs arrived."""

    def __init__(self) -> None:
        self.finished: list[float] = []

    def __call__(self, event: events.Event) -> None:
        """Note the event of one run."""
        if isinstance(event, events.Finished):
            self.finished.append(time.perf_counter())

    def each(self) -> float:
        """Return the median seconds from one run to the next; the first few warm up."""
        rest = self.finished[3:]
        return statistics.median(after - before for before, after in itertools.pairwise(rest))


def overhead(folder: Path) -> list[Row]:
    """Return a row for each transport, and one for the bytes sent."""
    root = folder / "project"
    (root / "snippets/t").mkdir(parents=True)
    (root / "mkdocs.yml").touch()
    for number in range(FEW):
        path = root / f"snippets/t/n{number:02d}.py"
        path.write_text(f'"""Say a number."""\nprint({number})\n')
    chosen, plan = snippets.find(root), Plan(root, Store(root / ".tclab"))
    pool, dask, carried = Times(), Times(), Times()
    schedule.run(chosen, plan, jobs=1, force=True, on_event=pool, warm=True)
    client.run(chosen, plan, client.ClusterAddress("local:1"), force=True, on_event=dask)
    bundle.write_jobs(folder / "jobs.tar", plan, chosen, "box")
    bundle.run_jobs(folder / "jobs.tar", folder / "runs.tar", on_event=carried, width=1)
    rows: list[Row] = [
        {"part": "overhead", "door": door, "seconds": times.each()}
        for door, times in (("pool", pool), ("dask", dask), ("bundle", carried))
    ]
    return [*rows, _travels()]


def _travels() -> Row:
    """Return the bytes of this project's tree, and of the median job and run in the store."""
    chosen, store = snippets.find(ROOT), Store.of_project(ROOT)
    of = tree.collect(ROOT, chosen)
    fields = {"tree": of.digest, "environment": "here", "torch": "", "variables": {}, "cache": ""}
    jobs = [
        len(protocol.to_json(protocol.encode_job(s, of.names, warm=True, **fields))) for s in chosen
    ]
    folders = [path for s in chosen if (path := store.folder(s.name)).exists()]
    runs = [len(tars.pack(path)) for path in folders]
    middle = statistics.median
    return {"part": "bytes", "tree": len(of.packed), "job": middle(jobs), "run": middle(runs),
            "runs": len(runs), "largest": max(runs)}  # fmt: skip


# --------------------------------------------------------------------------- simulation


class Sleeping(cluster.DaskCluster):
    """A cluster whose workers sleep."""

    module = sleeping.__name__


class Simulated(RemoteWork):
    """A planner in which every job gets the same run."""

    def _keep_run(self, seat: Any, queued: Any, answer: Any) -> None:
        run = protocol.unpack_run(answer.run, "t/n00", "here")
        self.finish(queued.job, replace(run, snippet=queued.job.name), worker=seat.member.name)


def seconds_of_runs() -> list[float]:
    """Return the seconds of the runs in the store, in a fixed random order."""
    store = Store.of_project(ROOT)
    names = sorted(run_files.snippet_names(store.path / "runs"))
    found = [run_files.read_head(store.folder(name), name).run.seconds for name in names]
    random.Random(0).shuffle(found)
    return found


def simulation(folder: Path) -> Iterator[Row]:
    """Return a row for each number of jobs and of workers."""
    root = folder / "simulated"
    (root / "snippets/t").mkdir(parents=True)
    (root / "mkdocs.yml").touch()
    path = root / "snippets/t/n00.py"
    path.write_text('"""Say a number."""\nprint(0)\n')
    plan = Plan(root, Store(root / ".tclab"))
    one = snippets.find(root)[0]
    made = schedule.run([one], plan, warm=False)["t/n00"]
    known = seconds_of_runs()
    for jobs, workers, bound in SIMULATED:
        seconds = [known[n % len(known)] for n in range(jobs)]
        yield simulated(root, one, made, seconds, workers, bound)


def simulated(
    root: Path, one: Snippet, made: Run, seconds: list[float], workers: int, wanted: float
) -> Row:
    """Simulate a number of jobs on a number of workers, sped up to the wanted bound."""
    bound = max(*seconds, sum(seconds) / workers)
    scale = max(1.0, bound / wanted)
    chosen = [
        replace(one, name=f"t/n{n:05d}", timeout=took / scale) for n, took in enumerate(seconds)
    ]
    plan = Plan(root, Store(root / f"store-{len(seconds)}-{workers}"))
    began = time.process_time()
    took = asyncio.run(_simulate(plan, one, made, chosen, workers))
    return {
        "part": "simulation",
        "jobs": len(seconds),
        "workers": workers,
        "scale": scale,
        "bound": bound / scale,
        "seconds": took,
        "ratio": took / (bound / scale),
        "rate": len(seconds) / took,
        "client": (time.process_time() - began) / len(seconds),
    }


async def _simulate(
    plan: Plan, one: Snippet, made: Run, chosen: list[Snippet], workers: int
) -> float:
    work = Simulated(plan, "here", events.ignore_event, True, plan.store.save)
    work.tree = tree.Tree({}, {one.path: "snippets/t/n00.py"})
    with _cluster(protocol.pack_run(made), workers) as address:
        async with cluster.connect(address) as there:
            work.cluster = Sleeping(there.client, address)
            began = time.perf_counter()
            await work.run(chosen, lambda snippet: snippet.timeout)
            return time.perf_counter() - began


_SCHEDULER = """
import asyncio, distributed
async def main():
    scheduler = await distributed.Scheduler(host="127.0.0.1", port=0, dashboard=False)
    print(scheduler.address, flush=True)
    await scheduler.finished()
asyncio.run(main())
"""


@contextmanager
def _cluster(answer: bytes, workers: int) -> Iterator[str]:
    """Start a scheduler and sleeping workers, each in a process; yield the scheduler's address."""
    scheduler = _started(["-c", _SCHEDULER])
    sleepers = None
    try:
        assert scheduler.stdout is not None
        address = scheduler.stdout.readline().decode().strip()
        sleepers = _started(["-m", "benchmarks.sleeping", address, str(workers)])
        assert sleepers.stdin is not None
        assert sleepers.stdout is not None
        sleepers.stdin.write(answer)
        sleepers.stdin.close()
        sleepers.stdout.readline()
        yield address
    finally:
        for process in filter(None, (sleepers, scheduler)):
            process.kill()
            process.wait()


def _started(words: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_env(),
        cwd=ROOT,
    )


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}


if __name__ == "__main__":
    sys.exit(main())
