"""The bytes that pass a door: a job, and what came of it.

A job is one line of JSON: the snippet with everything that its key names, the digest of the tree
that it stands in, the variables that reach it, the environment that its run is for. What comes
back begins with a line of JSON that says what it is; the folder of the run, as the store has it,
follows as a tar. No object of PyTorch and no class of tclab is in either.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypedDict, cast

from tclab import claims, settings
from tclab.engine import failures, variables
from tclab.engine.doors import tars
from tclab.engine.plan import Plan
from tclab.errors import StoreError, TclabError
from tclab.model import Failure, Run, Snippet, parsed
from tclab.store import run_files

#: Of the form of a job, of an answer and of what a worker announces. Another one is refused.
PROTOCOL = 1

#: Variables that say what a worker's machine is; a job brings none of them.
OF_THE_MACHINE = ("CUDA_VISIBLE_DEVICES", "CXX")


class SnippetData(TypedDict):
    """A snippet, and its limits. Files are named from the tree's root on."""

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
    output: int  # bytes; what a worker keeps to is its own, and no less strict
    files: int


class JobData(TypedDict):
    """One job."""

    protocol: int
    tree: str  # digest
    environment: str  # of the run: ``here``, or the name of a recording
    torch: str  # the version wanted, or how it begins; '' for any
    on: int  # which of the worker's environments runs it
    variables: dict[str, str]
    cache: str  # where the project has compiled objects, from its root on; '' for outside of it
    warm: bool
    snippet: SnippetData


def job(snippet: Snippet, files: Mapping[Path, str], **fields: object) -> JobData:
    """A job; `files` has the names in the tree of the snippet's own files."""
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


def snippet(data: SnippetData, root: Path) -> Snippet:
    """The snippet of a job, in the tree at `root`."""
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
        claims=claims.find(parsed(data["source"]), data["source"], place),
        place=data["place"],
        runner=data["runner"],
    )


def dumped(data: object) -> bytes:
    """JSON on one line."""
    return json.dumps(data, separators=(",", ":"), sort_keys=True).encode()


def cache_name(plan: Plan) -> str:
    """Where a project keeps compiled objects, as a job says it: a run may show the place."""
    cache, root = plan.store.cache.absolute(), plan.root.absolute()
    return cache.relative_to(root).as_posix() if cache.is_relative_to(root) else ""


# --------------------------------------------------------------------------- variables


def sent_variables() -> dict[str, str]:
    """The variables of this process that reach a snippet and count in its key. TclabError for one
    that may hold a secret or a path: neither is sent.
    """
    outer = variables.outer()
    told = settings.told(outer)
    sent = {name: value for name, value in told.items() if name not in OF_THE_MACHINE}
    for name, value in sent.items():
        if outer[name] != value:
            cause = "has a value that may be a secret or a path, which is sent to no other machine"
            step = f"unset it (env -u {name} tclab …), or run on this machine alone"
            raise TclabError(f"the variable {name}", cause, step)
    return sent


def agents_variables(sent: Mapping[str, str]) -> dict[str, str]:
    """All variables of a worker's process that runs jobs: the machine's own, and those sent."""
    foreign = settings.told(os.environ).keys() - set(OF_THE_MACHINE)
    ours = ("TCLAB_JOBS", "TCLAB_ON", "TCLAB_STORE", "TCLAB_ROOT", "TCLAB_JOB", "PYTHONPATH")
    own = {n: v for n, v in os.environ.items() if n not in foreign and n not in ours}
    return own | dict(sent)


# --------------------------------------------------------------------------- the answer

#: run: the folder of a run follows. refused: this worker cannot run it, and another may. trouble:
#: the worker had no room, or lost the process; again elsewhere. cancelled: nobody waits for it.
Kind = Literal["run", "refused", "trouble", "cancelled"]


class Head(TypedDict):
    """The first line of an answer."""

    protocol: int
    kind: Kind
    why: str


@dataclass(frozen=True)
class Answer:
    """What came of a job. `run` is the tar of its folder."""

    kind: Kind
    why: str = ""
    run: bytes = b""

    def encoded(self) -> bytes:
        """The bytes that come back."""
        head: Head = {"protocol": PROTOCOL, "kind": self.kind, "why": self.why}
        return dumped(head) + b"\n" + self.run

    @classmethod
    def of(cls, data: bytes) -> Answer:
        """The answer that these bytes are; one of trouble where they are none."""
        line, _, run = data.partition(b"\n")
        try:
            head = cast(Head, json.loads(line))
            if head["protocol"] == PROTOCOL:
                return cls(head["kind"], head["why"], run)
            return cls("refused", f"it answers in protocol {head['protocol']}, not {PROTOCOL}")
        except (ValueError, KeyError, TypeError):
            return cls("trouble", "its answer cannot be read")


def packed(run: Run) -> bytes:
    """The folder of a run, as the store has it, in a tar."""
    with tempfile.TemporaryDirectory(prefix="tclab-run-") as folder:
        run_files.write(run, Path(folder, "run"))
        return tars.pack(Path(folder, "run"))


def unpacked(data: bytes, name: str, environment: str) -> Run:
    """The run of this snippet in a tar, every digest checked. StoreError for anything else."""
    with tempfile.TemporaryDirectory(prefix="tclab-run-") as folder:
        at = Path(folder, "runs", *name.split("/"))
        try:
            tars.unpack(data, at)
        except tars.Unfit as problem:
            raise StoreError(f"the run of {name}", f"is damaged: {problem}", _AGAIN) from None
        head = run_files.head(at, name)
        if more := [p.name for p in at.rglob("*") if p.name not in {"run.json", *head.files}]:
            raise StoreError(f"the run of {name}", f"{more[0]} is no file of this run", _AGAIN)
        run = run_files.whole(head)
    if (run.snippet, run.environment) != (name, environment):
        cause = f"is that of {run.snippet} for {run.environment}"
        raise StoreError(f"the run of {name}", cause, _AGAIN)
    return run


_AGAIN = "run it again"


def failed(run: Run, cause: str, why: str, step: str) -> Run:
    """A run that no worker could make, with the reason."""
    return replace(run, failure=Failure(cause, why, None, "", step))
