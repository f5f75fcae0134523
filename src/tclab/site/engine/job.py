"""Define a job: one snippet to run. A job also has a lock, a folder, a request and, at the end, the
finished run.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from tclab.model import Artifact, Claim, Failure, Run, Snippet, Source, decode
from tclab.site.engine import failures, unfinished, variables
from tclab.site.engine.plan import Plan
from tclab.site.engine.worker.protocol import (
    WRITTEN_FOLDERS,
    End,
    Ended,
    JobFile,
    JobRequest,
)
from tclab.site.snippets import claims
from tclab.site.store import dependencies, keys, sources
from tclab.site.store.local_runs import Lock
from tclab.system import imports, inductor_cache, installed, machine, opened_files, paths, processes
from tclab.text.scrub import scrub, strip_terminal_codes

_PAGE_BYTES = 4096  # bytes of a page, the smallest unit in which a file is stored
_KEPT_BYTES = 64 * 1024  # the bytes that are kept of a stream that exceeded its limit


@dataclass(eq=False)
class Job:
    """A snippet to run under a plan, from the moment it is queued until its run is kept.

    `environment` is ``here`` or the name of a recording. If `solo`, no other job may run at the
    same time. The pool gives a running job its `number` and `folder`.
    """

    snippet: Snippet
    plan: Plan
    environment: str
    solo: bool = False
    waited: bool = False  # another build held the lock, and the user was told
    measured: int = 0  # number of runs that were rejected and measured again
    lock: Lock | None = None
    number: int = 0
    folder: Path = field(default_factory=Path)
    # the cache folder, shared by all runs except timed ones
    cache: Path = field(default_factory=Path)
    began: int = 0  # nanoseconds since the epoch
    source_key: str = ""  # digest of the snippet's files at the beginning of the job
    sources: tuple[Source, ...] = ()

    @property
    def name(self) -> str:
        return self.snippet.name

    # ------------------------------------------------------------------ lock

    def take_lock(self) -> bool:
        """Take the snippet's lock; return False while another process holds it."""
        self.lock = self.plan.store.lock(self.name)
        return self.lock is not None

    def release(self) -> None:
        """Release the lock, so that others may run the snippet."""
        if self.lock is not None:
            self.lock.release()
        self.lock = None

    # ------------------------------------------------------------------ process

    def prepare(self, number: int, folder: Path) -> None:
        """Make the job's folder. Its working folder has a link to the project's snippets, and to
        nothing else of the project.
        """
        self.number, self.folder = number, folder
        self.began = time.time_ns()
        self.source_key = keys.source_key(self.snippet)
        self.sources = sources.read_sources(self.snippet)
        try:
            self._make_folder()
        except OSError as error:
            raise paths.NoTemporarySpace(str(error.strerror)) from None

    def _make_folder(self) -> None:
        for name in WRITTEN_FOLDERS:
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
        """Return the request to the supervisor. A timed snippet starts in a cold process and shares
        no compiled kernels. A snippet that sees a GPU starts cold, since the warm process sees
        none.
        """
        own: dict[str, str | None] = dict(variables.job_variables(self.folder))
        alone, sees_gpu = self.snippet.alone, self.snippet.sees_gpu
        if sees_gpu:
            own |= variables.gpu_variables()
        self.cache = cache
        own |= self._own_cache_folders(cache) if alone else variables.cache_folders(cache)
        return {
            "job": self.number,
            "folder": str(self.folder),
            "timeout": self.snippet.timeout,
            "memory": self.snippet.memory * 2**20,
            "output": failures.OUTPUT_LIMIT,
            "files": failures.files_limit(self.snippet),
            "number": failures.MOST_FILES,
            "cold": alone or (sees_gpu and machine.has_cuda()),
            "variables": own | variables.timed_variables() if alone else own,
        }

    def _own_cache_folders(self, shared: Path) -> dict[str, str]:
        """Make new cache folders and copy the results of PyTorch's six tests of the CPU into them,
        so that the tests need not compile.
        """
        own = variables.cache_folders(self.folder / "cache")
        name = inductor_cache.VARIABLE
        inductor_cache.copy_cpu_trials(own[name], Path(variables.cache_folders(shared)[name]))
        return own

    # ------------------------------------------------------------------ run

    def collect(self, end_message: Ended) -> Run:
        """Make the run from the files that its process left, then remove the job's folder."""
        end_message = self._count_files(end_message)
        end = _read_end(self.folder)
        artifacts, unreadable = _read_artifacts(self.folder / "artifacts.jsonl", self.snippet)
        judged, imported, opened = self._judge_claims(end), *self._read_file_lists()
        run = replace(
            self._run(),
            seconds=end_message["seconds"],
            peak_memory=end_message["peak"],
            artifacts=artifacts,
            stdout=_read_output(self.folder / "stdout", end_message),
            stderr=_read_output(self.folder / "stderr", end_message),
            failure=self._find_failure(end_message, end, judged) or (unreadable if end else None),
            raised=end["raised"] if end and end["ended"] == "as declared" else "",
            claims=judged,
            rests_on=dependencies.dependency_digests(
                imported, opened, self.snippet, self.plan.package, self.began
            ),
            packages=installed.package_versions(imported),
        )
        if run.failure is not None and run.failure.cause in failures.KILLED:
            unfinished.remove(self.cache)
        shutil.rmtree(self.folder, ignore_errors=True)
        return run

    def _count_files(self, end_message: Ended) -> Ended:
        """Return the message with the limit "files" if the run has left too many files, which a
        quick run can make between two counts of the supervisor.
        """
        folders = (str(self.folder / name) for name in WRITTEN_FOLDERS)
        sizes = list(itertools.islice(processes.iter_file_sizes(folders), failures.MOST_FILES + 1))
        many = len(sizes) > failures.MOST_FILES or sum(sizes) > failures.files_limit(self.snippet)
        return {**end_message, "limit": end_message["limit"] or ("files" if many else "")}

    def may_measure_again(self, run: Run) -> bool:
        """Return whether to measure once more because the first measurement was unsteady, or an
        assert rejected it.

        Other work on the machine may have disturbed a snippet that measures times or uses a GPU.
        """
        measures = self.snippet.alone or "cuda" in self.snippet.needs
        rejected = run.failure is not None and run.failure.cause in ("assertion", "unsteady")
        return measures and rejected and not self.measured

    def run_of_dead_supervisor(self, log: str) -> Run:
        """Return the failed run of a snippet that ran when the supervisor died."""
        return replace(self._run(), failure=failures.supervisor_died(self.snippet, log))

    def _read_file_lists(self) -> tuple[set[Path], set[Path]]:
        """Return the files that the job's processes imported, and those that they opened, except
        files that they or a compiler wrote.
        """
        written = self.folder.resolve(), self.cache.resolve()
        imported = imports.read_import_lists(self.folder)
        opened = {path.resolve() for path in opened_files.read_notes(self.folder)}
        own, other = (
            {path for path in files if not any(map(path.is_relative_to, written))}
            for files in (imported, opened)
        )
        return own, other

    def _judge_claims(self, end: End | None) -> tuple[Claim, ...]:
        if end is None:
            return claims.judge(self.snippet.claims, {}, {}, {})
        noted = end["reached"], end["passed"], end["broken"]
        return claims.judge(self.snippet.claims, *noted)

    def _find_failure(
        self, end_message: Ended, end: End | None, judged_claims: Sequence[Claim]
    ) -> Failure | None:
        where = _read_text(self.folder / "where", 20)
        fault = _read_text(self.folder / "fault", 1 << 20)
        failure = failures.classify_end(self.snippet, end_message, end, fault, int(where or 0))
        false = claims.false_claims(judged_claims, self.plan.here.version)
        failure = failure or failures.failure_of_claims(self.snippet, false)
        if _is_full(self.folder) and (
            failure is None or failure.cause in failures.MAY_BE_FULL_DISK
        ):
            return failures.disk_full(self.snippet)
        return failure

    def _run(self) -> Run:
        """Return a run with its provenance and sources, and no results yet."""
        return Run(
            snippet=self.name,
            environment=self.environment,
            source_key=self.source_key,
            provenance=self.plan.here.for_snippet(self.snippet),
            seconds=0.0,
            peak_memory=0,
            sources=self.sources,
        )


def _is_full(folder: Path) -> bool:
    """Return whether the disk is full. If it is, the last writes of a process may be missing."""
    with contextlib.suppress(OSError):
        return shutil.disk_usage(folder).free < _PAGE_BYTES
    return False


def _share_headers(temporary: Path) -> None:
    """Link the C++ headers that PyTorch precompiles into the temporary folder of a cold process.

    PyTorch keeps these headers in ``torchinductor_<user>`` of the temporary folder, whatever the
    cache folder is, and building them takes longer than most compiles.
    """
    with contextlib.suppress(OSError):
        shared = inductor_cache.default_folder(Path(paths.set_temporary_folder()))
        shared.mkdir(mode=0o700, exist_ok=True)
        os.symlink(shared, temporary / shared.name)


# --------------------------------------------------------------------------- files of the process


def _read_end(folder: Path) -> End | None:
    """Return the report that the process wrote at its end; None if it wrote none."""
    try:
        return cast(End, json.loads((folder / "end.json").read_bytes()))
    except (OSError, ValueError):
        return None


def _read_artifacts(path: Path, snippet: Snippet) -> tuple[tuple[Artifact, ...], Failure | None]:
    """Return the artifacts that the run showed, and a failure for the first line that cannot be
    read.

    A crash can cut off the last line. A run that reached its end has written every line.
    """
    artifacts: list[Artifact] = []
    unreadable = None
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    for number, line in enumerate(filter(None, lines), 1):
        try:
            artifacts.append(_decode_artifact(line))
        except (ValueError, TypeError) as problem:
            unreadable = unreadable or failures.unreadable_artifact(snippet, number, problem)
    return tuple(artifacts), unreadable


def _decode_artifact(line: bytes) -> Artifact:
    artifact = decode(json.loads(line))
    if not isinstance(artifact, Artifact):
        raise TypeError(f"a {type(artifact).__name__} is no artifact")
    return artifact


def _read_output(path: Path, end_message: Ended) -> str:
    if end_message["limit"] != "output":
        return scrub(_read_text(path, failures.OUTPUT_LIMIT))
    text = scrub(_read_text(path, _KEPT_BYTES))
    return f"{text}\n[cut: the limit was broken]\n" if len(text) >= _KEPT_BYTES else text


def _read_text(path: Path, limit: int) -> str:
    """Read output as text: bytes that are not UTF-8 become ``\\xff``, ANSI escapes are removed."""
    try:
        with path.open("rb") as file:
            return strip_terminal_codes(file.read(limit).decode("utf-8", "backslashreplace"))
    except OSError:
        return ""
