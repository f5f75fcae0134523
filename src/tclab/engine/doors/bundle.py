"""The door of a machine without a network: jobs in a file, runs in a file.

``jobs.tar`` has the tree of the project and the jobs; ``runs.tar`` has the folders of the runs as a
store has them. Both begin with ``bundle.json``, which has the digest of every other file.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, cast

import tclab
from tclab import machine
from tclab.engine import events, schedule
from tclab.engine.doors import protocol, tars, tree
from tclab.engine.doors.box import Box
from tclab.engine.doors.protocol import PROTOCOL, Answer, JobData
from tclab.engine.events import OnEvent
from tclab.engine.plan import Plan
from tclab.errors import TclabError
from tclab.model import Run, Snippet

JOBS, RUNS = "tclab jobs", "tclab runs"


class Head(TypedDict):
    """What ``bundle.json`` says."""

    format: str
    protocol: int
    tclab: str
    environment: str
    torch: str  # the version wanted, or how it begins; '' for any
    tree: str  # digest
    jobs: str  # of runs: the digest of the jobs that they answer
    refused: dict[str, str]  # snippet → why it did not run
    files: dict[str, str]  # name → SHA-256


class BundleError(TclabError):
    """A bundle that is not taken. Nothing was written."""


@dataclass(frozen=True)
class Bundle:
    """A bundle that was read, every digest checked."""

    head: Head
    content: Mapping[str, bytes]
    digest: str


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(path: Path, head: Head, content: Mapping[str, bytes]) -> None:
    """Put a bundle in place of whatever was there, in one step. TclabError where it cannot be."""
    head["files"] = {name: _digest(data) for name, data in sorted(content.items())}
    data = tars.of_files({"bundle.json": protocol.dumped(head) + b"\n", **content})
    new = path.with_name(f".{path.name}.new-{os.getpid()}")
    try:
        new.write_bytes(data)
        new.replace(path)
    except OSError as error:
        step = "free some space there, or name another file"
        raise TclabError(str(path), f"cannot be written: {error.strerror}", step) from None
    finally:
        new.unlink(missing_ok=True)


def read(path: Path, wanted: str) -> Bundle:
    """A bundle of the kind that is wanted. BundleError where it is damaged, or anything else."""
    made = "tclab record ENVIRONMENT --bundle FILE" if wanted == JOBS else "tclab run --bundle"
    step = f"take the file that {made} wrote"
    try:
        if path.stat().st_size > tars.MOST:
            raise BundleError(str(path), f"has more than {tars.MOST // 2**20} MiB", step)
        content = dict(tars.files(path.read_bytes()))
        text = content.pop("bundle.json")
        head = _head(text)
    except OSError as error:
        raise BundleError(str(path), f"cannot be read: {error.strerror}", step) from None
    except tars.Unfit as problem:
        raise BundleError(str(path), f"is refused: {problem}", step) from None
    except (KeyError, ValueError, TypeError):
        raise BundleError(str(path), "is no bundle of tclab", step) from None
    if head["protocol"] != PROTOCOL:
        cause = f"is of protocol {head['protocol']} (tclab {head['tclab']}), and this tclab's is "
        raise BundleError(str(path), f"{cause}{PROTOCOL}", "take a tclab of the same protocol")
    if head["format"] != wanted:
        raise BundleError(str(path), f"has {head['format'].split()[-1]}, not {wanted[6:]}", step)
    found = {name: _digest(data) for name, data in content.items()}
    if wrong := sorted(dict(found.items() ^ head["files"].items())):
        cause = f"{wrong[0]} in it is not what was written"
        raise BundleError(str(path), cause, "bring it over again")
    return Bundle(head, content, _digest(text))


def _head(text: bytes) -> Head:
    data = json.loads(text)
    of = Head.__annotations__
    if not isinstance(data, dict) or data.keys() != of.keys():
        raise ValueError
    kinds = {"protocol": int, "refused": dict, "files": dict}
    if any(not isinstance(data[name], kinds.get(name, str)) for name in of):
        raise ValueError
    return cast(Head, data)


# --------------------------------------------------------------------------- jobs


def write_jobs(
    path: Path, plan: Plan, chosen: Iterable[Snippet], environment: str, torch: str = ""
) -> int:
    """Write jobs that record `chosen` for an environment; how many."""
    chosen = sorted(chosen, key=lambda each: each.alone)
    if not chosen:
        raise TclabError(environment, "nothing of it is stale", "name snippets, or say --force")
    of = tree.of(plan.root, chosen)
    fields: dict[str, object] = {"tree": of.digest, "environment": environment, "torch": torch}
    fields |= {"variables": protocol.sent_variables(), "cache": protocol.cache_name(plan)}
    fields["warm"] = schedule.worth_warming(chosen)
    content = {"tree.tar.gz": of.packed}
    for number, snippet in enumerate(chosen, 1):
        content[f"jobs/{number:05d}.json"] = protocol.dumped(
            protocol.job(snippet, of.names, **fields)
        )
    head = _new(JOBS, environment, torch, of.digest)
    _write(path, head, content)
    return len(chosen)


def _new(kind: str, environment: str, torch: str, digest: str, jobs: str = "") -> Head:
    return {
        "format": kind,
        "protocol": PROTOCOL,
        "tclab": tclab.__version__,
        "environment": environment,
        "torch": torch,
        "tree": digest,
        "jobs": jobs,
        "refused": {},
        "files": {},
    }


# --------------------------------------------------------------------------- runs


@dataclass
class Ran:
    """What came of a bundle's jobs here."""

    runs: dict[str, Run] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    packed: dict[str, bytes] = field(default_factory=dict)


def run(
    jobs: Path, out: Path, *, on_event: OnEvent = events.silent, width: int | None = None
) -> Ran:
    """Run a bundle's jobs with the Python and the PyTorch that are here, and write their runs. What
    `out` has of the same jobs is not run again; what had run before an interruption is written.
    """
    machine.check_torch()
    bundle = read(jobs, JOBS)
    every = [cast(JobData, json.loads(data)) for name, data in sorted(bundle.content.items())
             if name.startswith("jobs/")]  # fmt: skip
    ran = _ran_before(out, bundle)
    todo = [job for job in every if job["snippet"]["name"] not in ran.runs]
    width = width or int(os.environ.get("TCLAB_JOBS") or 0) or machine.cores()
    on_event(events.Planned(total=len(todo), jobs=width))
    try:
        with Box([sys.executable], width) as box:
            _put(box, bundle, jobs)
            _run(box, todo, width, ran, on_event)
    finally:
        _write_runs(out, bundle, ran)
    return ran


def _put(box: Box, bundle: Bundle, path: Path) -> None:
    try:
        box.put(bundle.head["tree"], bundle.content["tree.tar.gz"])
    except (KeyError, tars.Unfit) as problem:
        raise BundleError(str(path), f"its tree is refused: {problem}", "bring it anew") from None


def _run(box: Box, todo: list[JobData], width: int, ran: Ran, on_event: OnEvent) -> None:
    """Run the jobs, as many at a time as fit; until this process is interrupted."""
    interrupted, telling = threading.Event(), threading.Lock()

    def one(job: JobData) -> None:
        name = job["snippet"]["name"]
        if interrupted.is_set():
            return
        answer = box.run(job, interrupted.is_set, lambda: on_event(events.Started(name)))
        with telling:
            _took(job, answer, ran, on_event)

    with ThreadPoolExecutor(width) as threads:
        try:
            for done in [threads.submit(one, job) for job in todo]:
                done.result()
        finally:
            interrupted.set()


def _took(job: JobData, answer: Answer, ran: Ran, on_event: OnEvent) -> None:
    name = job["snippet"]["name"]
    if answer.kind == "run":
        run = protocol.unpacked(answer.run, name, job["environment"])
        ran.runs[name], ran.packed[name] = run, answer.run
        on_event(events.Finished(name, run=run))
    elif answer.kind != "cancelled":
        ran.refused[name] = answer.why
        on_event(events.Refused(name, why=answer.why))


def _ran_before(out: Path, bundle: Bundle) -> Ran:
    """The good runs of the same jobs that are there already."""
    ran = Ran()
    if out.exists():
        before = read(out, RUNS)
        if before.head["jobs"] == bundle.digest:
            for name, files in by_run(before).items():
                packed = tars.of_files(files)
                run = protocol.unpacked(packed, name, before.head["environment"])
                if run.ok:
                    ran.runs[name], ran.packed[name] = run, packed
    return ran


def _write_runs(out: Path, bundle: Bundle, ran: Ran) -> None:
    head = _new(RUNS, bundle.head["environment"], bundle.head["torch"], bundle.head["tree"],
                bundle.digest)  # fmt: skip
    head["refused"] = ran.refused
    content = {
        f"runs/{name}/{file}": data
        for name, packed in ran.packed.items()
        for file, data in tars.files(packed)
    }
    _write(out, head, content)


def by_run(bundle: Bundle) -> dict[str, dict[str, bytes]]:
    """The files of each run of a bundle, by snippet. BundleError for one that is in no run."""
    runs: dict[str, dict[str, bytes]] = {}
    for name, data in bundle.content.items():
        parts = name.split("/")
        if parts[0] != "runs" or len(parts) != 4:
            raise BundleError(name, "is no file of a run", "bring the bundle over again")
        runs.setdefault("/".join(parts[1:3]), {})[parts[3]] = data
    return runs
