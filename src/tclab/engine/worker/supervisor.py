"""The process between the runner and the snippets: starts them, limits them, reaps them.

One thread, one loop. Commands come as JSON lines on stdin, reports go as JSON lines to
what was stdout. When stdin ends, because the runner closed it or died, every snippet is
killed and nothing is left behind.

    → {"job": 3, "folder": "/tmp/…/3", "timeout": 120, "memory": 4294967296, "cold": false, …}
    ← {"event": "ready", "seconds": 6.1, "note": ""}
    ← {"event": "started", "job": 3, "pid": 4711}
    ← {"event": "ended", "job": 3, "status": 0, "limit": "", "seconds": 0.7, "peak": 310000000}

Warm, it has imported torch and compiled once, and forks; cold, it forks and execs.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tclab.engine.worker import limits

_TICK = 0.05  # seconds between two looks at the limits
_START = 60.0  # seconds a process gets to reach the snippet's first line
_LAST_WORDS = 2.0  # seconds a snippet gets to say where it is before it is killed
_FEW_WORDS = 0.2  # … once its stack is written, and only Python's own answer is missing
_FAR_OVER = 1.5  # times its memory limit: no more words


@dataclass
class Job:
    """One running snippet."""

    number: int
    pid: int
    folder: Path
    timeout: float
    memory: int
    output: int
    started: float = field(default_factory=time.monotonic)
    began: bool = False  # it has reached the snippet's first line: since then its time counts
    peak: int = 0
    family: set[int] = field(default_factory=set)
    limit: str = ""  # which limit it broke

    def broken_limit(self) -> str:
        """Look once; which limit is broken now, '' for none."""
        self.family = limits.tree(self.pid) | self._adopted()
        used = limits.resident(self.family)
        self.peak = max(self.peak, used)
        if used > self.memory:
            return "memory"
        if self.written() > self.output:
            return "output"
        allowed = self.timeout if self.began else self.timeout + _START
        return "timeout" if self.seconds() > allowed else ""

    def seconds(self) -> float:
        """How long the snippet has run, without the start of its process."""
        if not self.began and (text := _read(self.folder / "began")):
            self.began, self.started = True, float(text)
        return time.monotonic() - self.started

    def _adopted(self) -> set[int]:
        """Descendants whose parent died: they became children of this process."""
        mine = set(limits.children(os.getpid()))
        return {pid for left in self.family & mine for pid in limits.tree(left)}

    def written(self) -> int:
        """Bytes of output so far, of the stream that has more."""
        return max(_size(self.folder / name) for name in ("stdout", "stderr"))

    def ask_where(self) -> None:
        """Have the process write its Python stack, and wait a moment for it."""
        try:
            os.kill(self.pid, signal.SIGUSR2)
        except OSError:
            return
        spoken, end = False, time.monotonic() + _LAST_WORDS
        while time.monotonic() < end and not _size(self.folder / "where"):
            if limits.resident(self.family) > _FAR_OVER * self.memory:
                return
            if not spoken and _size(self.folder / "fault"):
                spoken, end = True, time.monotonic() + _FEW_WORDS
            time.sleep(0.005)


class Supervisor:
    """The loop and what it holds. `fork` runs a job in this process's image, None: exec."""

    def __init__(self, reports: int, base: Path, fork: Any = None) -> None:
        self.reports, self.base, self.fork = reports, base, fork
        self.jobs: dict[int, Job] = {}
        self._input = b""
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._inherited = (reports, self._wake, wake)

    def serve(self) -> None:
        """Work until stdin ends, then leave nothing behind."""
        try:
            while self._wait():
                self._reap()
                for job in list(self.jobs.values()):
                    self._hold_to_limits(job)
        finally:
            for job in self.jobs.values():
                limits.kill(job.pid, job.family | limits.tree(job.pid))
            shutil.rmtree(self.base, ignore_errors=True)

    def _wait(self) -> bool:
        """Sleep until something happens; start what was asked for. False: the runner left."""
        ready, _, _ = select.select([0, self._wake], [], [], _TICK if self.jobs else None)
        if self._wake in ready:
            os.read(self._wake, 4096)
        if 0 not in ready:
            return True
        chunk = os.read(0, 65536)
        *lines, self._input = (self._input + chunk).split(b"\n")
        for line in lines:
            self._start(json.loads(line))
        return bool(chunk)

    # ------------------------------------------------------------------ starting

    def _start(self, request: dict[str, Any]) -> None:
        folder, me = Path(request["folder"]), os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become(folder, request, me)
        self.jobs[pid] = Job(
            request["job"], pid, folder, request["timeout"], request["memory"], request["output"]
        )
        self._report(event="started", job=request["job"], pid=pid)

    def _become(self, folder: Path, request: dict[str, Any], parent: int) -> None:
        """In the new process: cut every tie to this one, then run the snippet. No return."""
        try:
            os.setsid()
            limits.die_with_parent(parent)
            limits.be_killed_first()
            _reset_signals()
            _redirect(folder)
            for descriptor in self._inherited:
                os.close(descriptor)
            os.chdir(folder / "work")
            if self.fork and not request["cold"]:
                os.environ.update(request["variables"])
                self.fork(folder)
            command = [sys.executable, "-m", "tclab.engine.worker.process", str(folder)]
            os.execve(sys.executable, command, _environment(request["variables"]))
        finally:
            os._exit(70)

    # ------------------------------------------------------------------ ending

    def _hold_to_limits(self, job: Job) -> None:
        if job.limit or not (broken := job.broken_limit()):
            return
        job.limit = broken
        job.ask_where()
        limits.kill(job.pid, job.family | limits.tree(job.pid))

    def _reap(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if job := self.jobs.pop(pid, None):  # others are orphans we adopted
                self._ended(job, status, usage.ru_maxrss)

    def _ended(self, job: Job, status: int, maxrss: int) -> None:
        seconds = job.seconds()
        limits.kill(job.pid, job._adopted())
        if not job.limit and job.written() > job.output:
            job.limit = "output"
        unit = 1 if sys.platform == "darwin" else 1024
        self._report(
            event="ended",
            job=job.number,
            status=os.waitstatus_to_exitcode(status),
            limit=job.limit,
            seconds=seconds,
            peak=max(job.peak, maxrss * unit),
        )

    def _report(self, **what: Any) -> None:
        with contextlib.suppress(BrokenPipeError):  # the runner left: stdin says so too
            os.write(self.reports, (json.dumps(what) + "\n").encode())


def _environment(changes: dict[str, str | None]) -> dict[str, str]:
    """This process's variables with `changes`; None removes one."""
    merged = {**os.environ, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python starts


def _redirect(folder: Path) -> None:
    """Empty stdin; stdout and stderr into the job's files, for all this process starts."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for target, path, mode in (
        (0, Path(os.devnull), os.O_RDONLY),
        (1, folder / "stdout", flags),
        (2, folder / "stderr", flags),
    ):
        descriptor = os.open(path, mode, 0o600)
        os.dup2(descriptor, target)
        os.close(descriptor)


def main(argv: list[str]) -> None:
    """``python -m tclab.engine.worker.supervisor BASE warm|cold``; BASE is removed at the end."""
    base, mode = Path(argv[0]), argv[1]
    reports = os.dup(1)
    os.dup2(2, 1)  # whatever the warm-up prints goes to the log
    limits.adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    began = time.monotonic()
    fork, note = _warm_up() if mode == "warm" else (None, "")
    supervisor = Supervisor(reports, base, fork)
    supervisor._report(event="ready", seconds=time.monotonic() - began, note=note)
    supervisor.serve()
    os._exit(0)  # tearing torch down would take its time


def _warm_up() -> tuple[Any, str]:
    """Import torch, compile once, and say how to run a job in a fork; or why not."""
    try:
        from tclab.engine.worker import process, warm

        note = warm.warm_up()
    except Exception as error:  # whatever it is: cold processes still show it or do without
        return None, f"snippets run in cold processes: {type(error).__name__}: {error}"
    return (None, f"snippets run in cold processes: {note}") if note else (process.run_forked, "")


if __name__ == "__main__":
    main(sys.argv[1:])
