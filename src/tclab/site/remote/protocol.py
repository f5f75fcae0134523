"""Encode and decode the messages between a client and a worker: a job, and its answer.

A job is one line of JSON: the snippet with everything that counts in its key, the digest of the
tree that contains the snippet, the environment variables that the snippet gets, and the environment
for which it runs. An answer is one line of JSON (its head), followed by a tar of the run's folder
as in the store. Neither a job nor an answer contains objects of PyTorch or classes of tclab.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypedDict, cast

from tclab.errors import StoreError, TclabError
from tclab.model import Failure, Run, Snippet, parse_source
from tclab.site.engine import failures, variables
from tclab.site.engine.plan import Plan
from tclab.site.remote import tars
from tclab.site.snippets import claims
from tclab.site.store import run_files
from tclab.system import settings

#: Version of the formats of jobs, answers and announcements. Another version is refused.
PROTOCOL = 1

#: Variables that describe a worker's machine; a job sends none of them.
MACHINE_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CXX", *settings.PLACES)


class SnippetData(TypedDict):
    """A snippet and its limits. File names are relative to the tree's root."""

    name: str
    file: str
    place: str
    source: str
    needs: list[str]
    raises: str
    alone: bool
    runner: str
    includes: list[str]
    timeout: float
    memory: int  # MiB
    output: int  # bytes of output; a worker applies its own limit, which is at least as strict
    files: int


class JobData(TypedDict):
    """One job: a snippet to run in one environment of a worker."""

    protocol: int
    tree: str  # digest of the tree
    environment: str  # environment of the run: ``here``, or the name of a recording
    torch: str  # a prefix of the required version; '' for any
    on: int  # index of the worker's environment that runs the job
    variables: dict[str, str]
    cache: str  # folder of compiled objects, relative to the project; '' if it is outside
    warm: bool
    snippet: SnippetData


def encode_job(snippet: Snippet, files: Mapping[Path, str], **fields: object) -> JobData:
    """Encode a job; `files` maps paths of the snippet's files to their names in the tree."""
    data: SnippetData = {
        "name": snippet.name,
        "file": files[snippet.path],
        "place": snippet.place,
        "source": snippet.source,
        "needs": sorted(snippet.needs),
        "raises": snippet.raises,
        "alone": snippet.alone,
        "runner": snippet.runner,
        "includes": [files[path] for path in snippet.includes],
        "timeout": snippet.timeout,
        "memory": snippet.memory,
        "output": failures.OUTPUT_LIMIT,
        "files": failures.files_limit(snippet),
    }
    return cast(JobData, {"protocol": PROTOCOL, "on": 0, **fields, "snippet": data})


def parse_job(data: bytes) -> JobData:
    """Parse a job. Raises ValueError if fields of a job are missing."""
    job = json.loads(data)
    if not (_has_fields(job, JobData) and _has_fields(job["snippet"], SnippetData)):
        raise ValueError("is no job")
    return cast(JobData, job)


def _has_fields(data: object, kind: type) -> bool:
    return isinstance(data, dict) and kind.__annotations__.keys() <= data.keys()


def decode_snippet(data: SnippetData, root: Path) -> Snippet:
    """Rebuild the snippet of a job, in the tree at `root`."""
    place = data["place"] or f"snippets/{data['name']}.py"
    return Snippet(
        name=data["name"],
        path=root / data["file"],
        title="",
        caption="",
        source=data["source"],
        needs=frozenset(data["needs"]),
        raises=data["raises"],
        timeout=data["timeout"],
        memory=data["memory"],
        includes=tuple(root / name for name in data["includes"]),
        alone=data["alone"],
        claims=claims.find(parse_source(data["source"]), data["source"], place),
        place=data["place"],
        runner=data["runner"],
    )


def to_json(data: object) -> bytes:
    """Encode as one line of JSON."""
    return json.dumps(data, separators=(",", ":"), sort_keys=True).encode()


def cache_name(plan: Plan) -> str:
    """Return the folder of compiled objects, relative to the project; '' if it is outside.

    The worker uses the same relative path, because a run may show it.
    """
    cache, root = plan.store.cache.absolute(), plan.root.absolute()
    return cache.relative_to(root).as_posix() if cache.is_relative_to(root) else ""


# --------------------------------------------------------------------------- variables


def variables_to_send() -> dict[str, str]:
    """Return the variables of this process that reach a snippet and count in its key.

    Raises TclabError if a value may be a secret or a path, which are not sent.
    """
    outer = variables.inherited_variables()
    published = settings.published_settings(outer)
    sendable = {name: value for name, value in published.items() if name not in MACHINE_VARIABLES}
    for name, value in sendable.items():
        if outer[name] != value:
            cause = "has a value that may be a secret or a path, which is sent to no other machine"
            step = f"unset it (env -u {name} tclab …), or run on this machine alone"
            raise TclabError(f"the variable {name}", cause, step)
    return sendable


def agent_variables(job_variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an agent's process: the machine's own variables and the received
    ones.
    """
    foreign = settings.published_settings(os.environ).keys() - set(MACHINE_VARIABLES)
    ours = ("TCLAB_JOBS", "TCLAB_ON", "TCLAB_STORE", "TCLAB_ROOT", "TCLAB_JOB", "PYTHONPATH")
    own = {n: v for n, v in os.environ.items() if n not in foreign and n not in ours}
    return own | dict(job_variables)


# --------------------------------------------------------------------------- the answer

#: The kinds of answers. run: the folder of a run follows. refused: this worker cannot run the job,
#: but another one may. trouble: the worker's disk is full, or its process died, so the job should
#: be retried elsewhere. cancelled: the client gave up.
Kind = Literal["run", "refused", "trouble", "cancelled"]


class Head(TypedDict):
    """The first line of an answer, as JSON."""

    protocol: int
    kind: Kind
    why: str


@dataclass(frozen=True)
class Answer:
    """A worker's answer to a job. `run` is the tar of the run's folder."""

    kind: Kind
    why: str = ""
    run: bytes = b""

    def encode(self) -> bytes:
        """Return the answer as bytes to send."""
        head: Head = {"protocol": PROTOCOL, "kind": self.kind, "why": self.why}
        return to_json(head) + b"\n" + self.run

    @classmethod
    def parse(cls, data: bytes) -> Answer:
        """Parse an answer; other bytes give an answer of kind ``trouble``."""
        line, _, run = data.partition(b"\n")
        try:
            head = cast(Head, json.loads(line))
            if head["protocol"] == PROTOCOL:
                return cls(head["kind"], head["why"], run)
            return cls("refused", f"it answers in protocol {head['protocol']}, not {PROTOCOL}")
        except (ValueError, KeyError, TypeError):
            return cls("trouble", "its answer cannot be read")


def pack_run(run: Run) -> bytes:
    """Pack the folder of a run, as the store keeps it, into a tar."""
    with tempfile.TemporaryDirectory(prefix="tclab-run-") as folder:
        run_files.write(run, Path(folder, "run"))
        return tars.pack(Path(folder, "run"))


def unpack_run(data: bytes, name: str, environment: str) -> Run:
    """Unpack the run of this snippet and check each digest. Raises StoreError for other data."""
    with tempfile.TemporaryDirectory(prefix="tclab-run-") as folder:
        run_folder = Path(folder, "runs", *name.split("/"))
        try:
            tars.unpack(data, run_folder)
        except tars.InvalidTar as problem:
            raise StoreError(f"the run of {name}", f"is damaged: {problem}", _RUN_AGAIN) from None
        head = run_files.read_head(run_folder, name)
        names = (path.name for path in run_folder.rglob("*"))
        if more := [each for each in names if each not in {"run.json", *head.files}]:
            raise StoreError(f"the run of {name}", f"{more[0]} is no file of this run", _RUN_AGAIN)
        run = run_files.read_rest(head)
    if (run.snippet, run.environment) != (name, environment):
        cause = f"is that of {run.snippet} for {run.environment}"
        raise StoreError(f"the run of {name}", cause, _RUN_AGAIN)
    return run


_RUN_AGAIN = "run it again"


def add_failure(run: Run, cause: str, message: str, step: str) -> Run:
    """Return the run with a failure of this cause, message and next step."""
    return replace(run, failure=Failure(cause, message, None, "", step))
