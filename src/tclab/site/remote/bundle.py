"""Carry jobs and runs as files, to and from a machine without a network.

``jobs.tar`` contains the project's tree and the jobs; ``runs.tar`` contains the folders of the
runs, as a store keeps them. Both begin with ``bundle.json``, which lists the digest of each other
file.
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
from tclab.errors import TclabError
from tclab.model import Run, Snippet
from tclab.site.engine import events, schedule
from tclab.site.engine.events import OnEvent
from tclab.site.engine.plan import Plan
from tclab.site.remote import protocol, tars, tree
from tclab.site.remote.protocol import PROTOCOL, Answer, JobData
from tclab.site.remote.worker_host import WorkerHost
from tclab.system import machine

JOBS, RUNS = "tclab jobs", "tclab runs"


class BundleHead(TypedDict):
    """The content of ``bundle.json``."""

    format: str
    protocol: int
    tclab: str
    environment: str
    torch: str  # a prefix of the required version; '' for any
    tree: str  # digest of the tree
    jobs: str  # in runs.tar: the digest of the jobs that were run
    refused: dict[str, str]  # snippet → reason
    files: dict[str, str]  # name → SHA-256


class BundleError(TclabError):
    """Raised for a bundle that was refused; then nothing was written."""


@dataclass(frozen=True)
class Bundle:
    """A bundle that was read and whose digests were checked. `digest` is the digest of its head."""

    head: BundleHead
    content: Mapping[str, bytes]
    digest: str


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write_bundle(path: Path, head: BundleHead, content: Mapping[str, bytes]) -> None:
    """Write a bundle to `path` in one step. Raises TclabError if it cannot be written."""
    head["files"] = {name: _digest(data) for name, data in sorted(content.items())}
    data = tars.pack_files({"bundle.json": protocol.to_json(head) + b"\n", **content})
    new = path.with_name(f".{path.name}.new-{os.getpid()}")
    try:
        new.write_bytes(data)
        new.replace(path)
    except OSError as error:
        step = "free some space there, or name another file"
        raise TclabError(str(path), f"cannot be written: {error.strerror}", step) from None
    finally:
        new.unlink(missing_ok=True)


def read(path: Path, expected: str) -> Bundle:
    """Read a bundle of the expected format. Raises BundleError if it is damaged or of another
    format.
    """
    command = "tclab record ENVIRONMENT --bundle FILE" if expected == JOBS else "tclab run --bundle"
    step = f"take the file that {command} wrote"
    try:
        if path.stat().st_size > tars.MAX_BYTES:
            raise BundleError(str(path), f"has more than {tars.MAX_BYTES // 2**20} MiB", step)
        content = dict(tars.iter_files(path.read_bytes()))
        text = content.pop("bundle.json")
        head = _parse_head(text)
    except OSError as error:
        raise BundleError(str(path), f"cannot be read: {error.strerror}", step) from None
    except tars.InvalidTar as problem:
        raise BundleError(str(path), f"is refused: {problem}", step) from None
    except (KeyError, ValueError, TypeError, RecursionError):
        raise BundleError(str(path), "is no bundle of tclab", step) from None
    if head["protocol"] != PROTOCOL:
        cause = f"is of protocol {head['protocol']} (tclab {head['tclab']}), and this tclab's is "
        raise BundleError(str(path), f"{cause}{PROTOCOL}", "take a tclab of the same protocol")
    if head["format"] != expected:
        raise BundleError(str(path), f"has {head['format'].split()[-1]}, not {expected[6:]}", step)
    found = {name: _digest(data) for name, data in content.items()}
    if wrong := sorted(dict(found.items() ^ head["files"].items())):
        cause = f"{wrong[0]} in it is not what was written"
        raise BundleError(str(path), cause, "bring it over again")
    return Bundle(head, content, _digest(text))


def _parse_head(text: bytes) -> BundleHead:
    data = json.loads(text)
    fields = BundleHead.__annotations__
    if not isinstance(data, dict) or data.keys() != fields.keys():
        raise ValueError
    kinds = {"protocol": int, "refused": dict, "files": dict}
    if any(not isinstance(data[name], kinds.get(name, str)) for name in fields):
        raise ValueError
    if not all(isinstance(text, str) for name in _TEXTS for text in data[name].values()):
        raise ValueError
    return cast(BundleHead, data)


#: The fields of the head that map names to texts.
_TEXTS = ("refused", "files")


# --------------------------------------------------------------------------- jobs


def write_jobs(
    path: Path, plan: Plan, chosen: Iterable[Snippet], environment: str, torch: str = ""
) -> int:
    """Write a bundle of jobs that record `chosen` for an environment; return their number."""
    chosen = sorted(chosen, key=lambda each: each.alone)
    if not chosen:
        raise TclabError(environment, "nothing of it is stale", "name snippets, or say --force")
    project_tree = tree.collect(plan.root, chosen)
    digest = project_tree.digest
    fields: dict[str, object] = {"tree": digest, "environment": environment, "torch": torch}
    fields |= {"variables": protocol.variables_to_send(), "cache": protocol.cache_name(plan)}
    fields["warm"] = schedule.should_warm(chosen)
    content = {"tree.tar.gz": project_tree.packed}
    for number, snippet in enumerate(chosen, 1):
        content[f"jobs/{number:05d}.json"] = protocol.to_json(
            protocol.encode_job(snippet, project_tree.names, **fields)
        )
    head = _new_head(JOBS, environment, torch, digest)
    _write_bundle(path, head, content)
    return len(chosen)


def _new_head(kind: str, environment: str, torch: str, digest: str, jobs: str = "") -> BundleHead:
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
class BundleResult:
    """The result of a bundle's jobs. By snippet: the runs, the same runs as tars, and the reasons
    for refusals.
    """

    runs: dict[str, Run] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    packed: dict[str, bytes] = field(default_factory=dict)


def run_jobs(
    jobs: Path, out: Path, *, on_event: OnEvent = events.ignore_event, width: int | None = None
) -> BundleResult:
    """Run a bundle's jobs with this Python and its PyTorch, and write their runs to `out`.

    A job whose good run is already in `out` is not run again. After an interruption `out` has the
    finished runs.
    """
    machine.check_torch()
    bundle = read(jobs, JOBS)
    all_jobs = [
        _parse_job(jobs, name, data)
        for name, data in sorted(bundle.content.items())
        if name.startswith("jobs/")
    ]
    result = _previous_result(out, bundle)
    todo = [job for job in all_jobs if job["snippet"]["name"] not in result.runs]
    width = width or int(os.environ.get("TCLAB_JOBS") or 0) or machine.count_cores()
    on_event(events.Planned(total=len(todo), jobs=width))
    try:
        with WorkerHost([sys.executable], width) as host:
            _unpack_tree(host, bundle, jobs)
            _run_all(host, todo, width, result, on_event)
    finally:
        _write_runs(out, bundle, result)
    return result


def _parse_job(path: Path, name: str, data: bytes) -> JobData:
    """Parse a job of a bundle. Raises BundleError for other data."""
    try:
        return protocol.parse_job(data)
    except (ValueError, RecursionError):
        step = "write the bundle anew: tclab record ENVIRONMENT --bundle FILE"
        raise BundleError(str(path), f"{name} in it is no job", step) from None


def _unpack_tree(host: WorkerHost, bundle: Bundle, path: Path) -> None:
    try:
        host.add_tree(bundle.head["tree"], bundle.content["tree.tar.gz"])
    except (KeyError, tars.InvalidTar) as problem:
        raise BundleError(str(path), f"its tree is refused: {problem}", "bring it anew") from None


def _run_all(
    host: WorkerHost, todo: list[JobData], width: int, result: BundleResult, on_event: OnEvent
) -> None:
    """Run the jobs, `width` at a time, until all are done or this process is interrupted."""
    stop, report_lock = threading.Event(), threading.Lock()

    def run_one(job: JobData) -> None:
        name = job["snippet"]["name"]
        if stop.is_set():
            return
        answer = host.run(job, stop.is_set, lambda: on_event(events.Started(name)))
        with report_lock:
            _note_answer(job, answer, result, on_event)

    with ThreadPoolExecutor(width) as threads:
        try:
            for done in [threads.submit(run_one, job) for job in todo]:
                done.result()
        finally:
            stop.set()


def _note_answer(job: JobData, answer: Answer, result: BundleResult, on_event: OnEvent) -> None:
    name = job["snippet"]["name"]
    if answer.kind == "run":
        run = protocol.unpack_run(answer.run, name, job["environment"])
        result.runs[name], result.packed[name] = run, answer.run
        on_event(events.Finished(name, run=run))
    elif answer.kind != "cancelled":
        result.refused[name] = answer.why
        on_event(events.Refused(name, why=answer.why))


def _previous_result(out: Path, bundle: Bundle) -> BundleResult:
    """Return the good runs of the same jobs from an earlier call, which wrote them to `out`."""
    result = BundleResult()
    if out.exists():
        previous = read(out, RUNS)
        if previous.head["jobs"] == bundle.digest:
            for name, files in files_by_run(previous).items():
                packed = tars.pack_files(files)
                run = protocol.unpack_run(packed, name, previous.head["environment"])
                if run.ok:
                    result.runs[name], result.packed[name] = run, packed
    return result


def _write_runs(out: Path, bundle: Bundle, result: BundleResult) -> None:
    head = _new_head(RUNS, bundle.head["environment"], bundle.head["torch"], bundle.head["tree"],
                bundle.digest)  # fmt: skip
    head["refused"] = result.refused
    content = {
        f"runs/{name}/{file}": data
        for name, packed in result.packed.items()
        for file, data in tars.iter_files(packed)
    }
    _write_bundle(out, head, content)


def files_by_run(bundle: Bundle) -> dict[str, dict[str, bytes]]:
    """Map each snippet to the contents of its files, by file name. Raises BundleError for a file
    that belongs to no run.
    """
    runs: dict[str, dict[str, bytes]] = {}
    for name, data in bundle.content.items():
        parts = name.split("/")
        if parts[0] != "runs" or len(parts) != 4:
            raise BundleError(name, "is no file of a run", "bring the bundle over again")
        runs.setdefault("/".join(parts[1:3]), {})[parts[3]] = data
    return runs
