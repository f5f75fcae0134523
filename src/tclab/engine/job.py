"""One running snippet: its lock, its folder, what its process is told and what it left behind."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from tclab import claims, imports, machine, paths
from tclab.engine import failures, unfinished, variables
from tclab.engine.plan import Plan
from tclab.engine.worker import vector_isas
from tclab.engine.worker.protocol import End, Ended, JobFile, JobRequest
from tclab.model import Artifact, Claim, Failure, Run, Snippet, Source, decode
from tclab.scrub import plain, scrub
from tclab.store import keys, rests, sources
from tclab.store.live import Lock

_FULL = 4096  # bytes: a page, the least a file takes
_KEPT_OF_TOO_MUCH = 64 * 1024  # bytes of a stream that went over its limit


@dataclass(eq=False)
class Job:
    """A snippet to run under a plan, from its turn in the queue until its run is kept.

    `environment` is ``here`` or the name of a recording; `solo`: with nothing beside it. `number`
    and `folder` are the pool's, once it runs.
    """

    snippet: Snippet
    plan: Plan
    environment: str
    solo: bool = False
    waited: bool = False  # another build had the lock
    measured: int = 0  # how often it was run and is to be run again
    lock: Lock | None = None
    number: int = 0
    folder: Path = field(default_factory=Path)
    cache: Path = field(default_factory=Path)  # what runs share; one that runs alone has its own
    began: int = 0  # ns since the epoch
    source_key: str = ""  # of the files as they were then
    sources: tuple[Source, ...] = ()

    @property
    def name(self) -> str:
        return self.snippet.name

    # ------------------------------------------------------------------ its turn

    def take_lock(self) -> bool:
        """The right to run the snippet; False while another process has it."""
        self.lock = self.plan.store.lock(self.name)
        return self.lock is not None

    def release(self) -> None:
        """Let others run the snippet."""
        if self.lock is not None:
            self.lock.release()
        self.lock = None

    # ------------------------------------------------------------------ its process

    def prepare(self, number: int, folder: Path) -> None:
        """Make its folder. Its working folder sees the project's snippets and no more."""
        self.number, self.folder = number, folder
        self.began = time.time_ns()
        self.source_key = keys.source_key(self.snippet)
        self.sources = sources.of_snippet(self.snippet)
        try:
            self._make_folder()
        except OSError as error:
            raise paths.NoRoom(str(error.strerror)) from None

    def _make_folder(self) -> None:
        for name in ("work", "tmp", "cache"):
            (self.folder / name).mkdir(parents=True)
        os.symlink(self.plan.root.absolute() / "snippets", self.folder / "work" / "snippets")
        _share_headers(self.folder / "tmp")
        job_file: JobFile = {
            "file": self.snippet.file,
            "path": str(self.snippet.path.parent),
            "source": self.snippet.source,
            "raises": self.snippet.raises,
            "runner": self.snippet.runner,
        }
        (self.folder / "job.json").write_text(json.dumps(job_file), encoding="utf-8")

    def request(self, cache: Path) -> JobRequest:
        """What the supervisor is told. A timed snippet is cold, and shares no compiled kernels; one
        that sees a GPU is cold, since the process that others are forked from sees none.
        """
        own: dict[str, str | None] = dict(variables.job_variables(self.folder))
        alone, sees_gpu = self.snippet.alone, self.snippet.sees_gpu
        if sees_gpu:
            own |= variables.gpu_visible()
        self.cache = cache
        own |= self._own_cache(cache) if alone else variables.cache_folders(cache)
        return {
            "job": self.number,
            "folder": str(self.folder),
            "timeout": self.snippet.timeout,
            "memory": self.snippet.memory * 2**20,
            "output": failures.OUTPUT_LIMIT,
            "files": failures.files_limit(self.snippet),
            "cold": alone or (sees_gpu and machine.has_cuda()),
            "variables": own | variables.undone() if alone else own,
        }

    def _own_cache(self, shared: Path) -> dict[str, str]:
        """Folders of its own, with what is known of the CPU, which takes PyTorch six compiles."""
        own = variables.cache_folders(self.folder / "cache")
        name = "TORCHINDUCTOR_CACHE_DIR"
        vector_isas.lend(variables.cache_folders(shared)[name], own[name])
        return own

    # ------------------------------------------------------------------ its run

    def collect(self, ended: Ended) -> Run:
        """The run, from what its process left and how it ended. Its folder has then served."""
        end = _end(self.folder)
        artifacts, unreadable = _artifacts(self.folder / "artifacts.jsonl", self.snippet)
        judged = self._judged(end)
        run = replace(
            self._run(),
            seconds=ended["seconds"],
            peak_memory=ended["peak"],
            artifacts=artifacts,
            stdout=_output(self.folder / "stdout", ended),
            stderr=_output(self.folder / "stderr", ended),
            failure=self._failure(ended, end, judged) or (unreadable if end else None),
            raised=end["raised"] if end and end["ended"] == "as declared" else "",
            claims=judged,
            rests_on=self._rests_on(),
        )
        if run.failure is not None and run.failure.cause in failures.ENDED_FROM_OUTSIDE:
            unfinished.remove(self.cache)
        shutil.rmtree(self.folder, ignore_errors=True)
        return run

    def may_measure_again(self, run: Run) -> bool:
        """A measurement that an assert of its own rejects is taken once more.

        What takes times wants the machine to itself, as does what looks at a GPU's timeline, and
        no engine can promise that.
        """
        measures = self.snippet.alone or "cuda" in self.snippet.needs
        rejected = run.failure is not None and run.failure.cause == "assertion"
        return measures and rejected and not self.measured

    def lost(self, log: str) -> Run:
        """The run of a snippet under which the engine's process died."""
        return replace(self._run(), failure=failures.lost(self.snippet, log))

    def _rests_on(self) -> dict[str, str]:
        imported = imports.reported(self.folder)
        return rests.of_run(imported, self.snippet, self.plan.package, self.began)

    def _judged(self, end: End | None) -> tuple[Claim, ...]:
        if end is None:
            return claims.judged(self.snippet.claims, {}, {})
        return claims.judged(self.snippet.claims, end["reached"], end["broken"])

    def _failure(self, ended: Ended, end: End | None, judged: Sequence[Claim]) -> Failure | None:
        where = _text(self.folder / "where", 20)
        fault = _text(self.folder / "fault", 1 << 20)
        failure = failures.of_job(self.snippet, ended, end, fault, int(where or 0))
        false = claims.false(judged, self.plan.here.version)
        failure = failure or failures.of_claims(self.snippet, false)
        if _is_full(self.folder) and (failure is None or failure.cause in failures.WITHOUT_ROOM):
            return failures.no_room(self.snippet)
        return failure

    def _run(self) -> Run:
        """A run of which nothing is known yet but what makes it."""
        return Run(
            snippet=self.name,
            environment=self.environment,
            source_key=self.source_key,
            provenance=self.plan.here.of(self.snippet),
            seconds=0.0,
            peak_memory=0,
            sources=self.sources,
        )


def _is_full(folder: Path) -> bool:
    """No file can grow there: what a process wrote last may be lacking."""
    with contextlib.suppress(OSError):
        return shutil.disk_usage(folder).free < _FULL
    return False


def _share_headers(temporary: Path) -> None:
    """Let a cold process find the C++ headers that PyTorch precompiled once for all.

    It keeps them in ``torchinductor_<user>`` of the temporary folder whatever the cache
    folder is; building them takes longer than most compiles.
    """
    with contextlib.suppress(OSError, KeyError):
        name = "torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
        shared = Path(paths.settle_temporary()) / name
        shared.mkdir(mode=0o700, exist_ok=True)
        os.symlink(shared, temporary / name)


# --------------------------------------------------------------------------- what it left


def _end(folder: Path) -> End | None:
    """What the process said of its end; None where it did not come to one."""
    try:
        return cast(End, json.loads((folder / "end.json").read_bytes()))
    except (OSError, ValueError):
        return None


def _artifacts(path: Path, snippet: Snippet) -> tuple[tuple[Artifact, ...], Failure | None]:
    """What was shown, and a failure for the first line that cannot be read.

    A crash may cut the last line short. A run that came to its end has written every line.
    """
    artifacts: list[Artifact] = []
    unreadable = None
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    for number, line in enumerate(filter(None, lines), 1):
        try:
            artifacts.append(_artifact(line))
        except (ValueError, TypeError) as problem:
            unreadable = unreadable or failures.unreadable(snippet, number, problem)
    return tuple(artifacts), unreadable


def _artifact(line: bytes) -> Artifact:
    artifact = decode(json.loads(line))
    if not isinstance(artifact, Artifact):
        raise TypeError(f"a {type(artifact).__name__} is no artifact")
    return artifact


def _output(path: Path, ended: Ended) -> str:
    if ended["limit"] != "output":
        return scrub(_text(path, failures.OUTPUT_LIMIT))
    text = scrub(_text(path, _KEPT_OF_TOO_MUCH))
    return f"{text}\n[cut: the limit was broken]\n" if len(text) >= _KEPT_OF_TOO_MUCH else text


def _text(path: Path, limit: int) -> str:
    """Output as text: bytes that are not UTF-8 as ``\\xff``, no ANSI escapes."""
    try:
        with path.open("rb") as file:
            return plain(file.read(limit).decode("utf-8", "backslashreplace"))
    except OSError:
        return ""
