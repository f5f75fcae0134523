"""The process between the runner and the snippets: starts them, limits them, reaps them.

One thread, one loop. Commands come as JSON lines on stdin, messages go as JSON lines to
what was stdout (`protocol`). When stdin ends, because the runner closed it or died, every
snippet is ended and nothing is left behind.

    → {"job": 3, "folder": "/tmp/…/3", "timeout": 120, "memory": 4294967296, "cold": false, …}
    ← {"event": "ready", "seconds": 6.1, "note": ""}
    ← {"event": "started", "job": 3}
    ← {"event": "ended", "job": 3, "status": 0, "limit": "", "seconds": 0.7, "peak": 310000000}

Warm, it has imported torch and compiled once, and forks; cold, it forks and execs. Its own
children are the snippets' keepers (`keeper`); any other is what a killed keeper left.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tclab.engine.worker import keeper, limits
from tclab.engine.worker.keeper import Fork
from tclab.engine.worker.protocol import JobRequest, Limit, Message

_TICK = 0.05  # seconds between two looks at the limits
_START = 60.0  # seconds a process gets to reach the snippet's first line
_LAST_WORDS = 2.0  # seconds a snippet gets to say where it is before it is killed
_FEW_WORDS = 0.2  # … once its stack is written, and only Python's own answer is missing
_REST = 4  # times as long as a look took that is dear: the pause before the next
_FAR_OVER = 1.5  # times its memory limit: no more words
_LEAVING = 4.0  # seconds the keepers get to end their snippets when the runner has left
_MAXRSS = 1 if sys.platform == "darwin" else 1024  # bytes


@dataclass
class Watched:
    """One running snippet, from here: its keeper, and what is known of its limits."""

    request: JobRequest
    keeper: int  # its pid
    started: float = field(default_factory=time.monotonic)
    began: bool = False  # it has reached the snippet's first line: since then its time counts
    peak: int = 0
    proportional: int = 0  # bytes when they were counted last, what is shared in parts
    files: int = 0  # bytes of its files, likewise
    next_count: dict[str, float] = field(default_factory=dict)
    limit: Limit = ""  # which limit it broke

    @property
    def folder(self) -> Path:
        return Path(self.request["folder"])

    def broken_limit(self) -> Limit:
        """Look once; which limit is broken now, '' for none."""
        used = self._resident()
        self.peak = max(self.peak, used)
        if used > self.request["memory"] and self._proportional() > self.request["memory"]:
            return "memory"
        if self.written() > self.request["output"]:
            return "output"
        if self._files() > self.request["files"]:
            return "files"
        seconds = self.seconds(time.monotonic())
        return "timeout" if seconds > self.request["timeout"] + _START * (not self.began) else ""

    def _resident(self) -> int:
        return limits.resident(limits.below(self.keeper))

    def _proportional(self) -> int:
        with self._sparingly("memory") as due:
            if due:
                self.proportional = limits.proportional(limits.below(self.keeper))
        return self.proportional

    def _files(self) -> int:
        with self._sparingly("files") as due:
            if due:
                self.files = sum(map(limits.size_below, self._folders()))
        return self.files

    def _folders(self) -> Iterator[Path]:
        return (self.folder / name for name in ("work", "tmp", "cache"))

    @contextlib.contextmanager
    def _sparingly(self, what: str) -> Iterator[bool]:
        """Around a look that takes time: whether it is due, so that looks leave the cores alone."""
        began = time.monotonic()
        due = began >= self.next_count.get(what, 0.0)
        yield due
        if due:
            now = time.monotonic()
            self.next_count[what] = now + _REST * max(now - began, _TICK)

    def seconds(self, now: float) -> float:
        """How long the snippet has run, without the start of its process."""
        if not self.began and (text := _read(self.folder / "began")):
            self.began, self.started = True, float(text)
        return max(0.0, now - self.started)

    def written(self) -> int:
        """Bytes of output so far, of the stream that has more."""
        return max(_size(self.folder / name) for name in ("stdout", "stderr"))

    def ask_where(self) -> None:
        """Have the process write its Python stack, and wait a moment for it."""
        if not (pid := _read(self.folder / "pid")):
            return
        limits.send([int(pid)], signal.SIGUSR2)
        spoken, end = False, time.monotonic() + _LAST_WORDS
        while time.monotonic() < end and not _size(self.folder / "where"):
            if self._resident() > _FAR_OVER * self.request["memory"]:
                return
            if not spoken and _size(self.folder / "fault"):
                spoken, end = True, time.monotonic() + _FEW_WORDS
            time.sleep(0.005)

    def stop(self) -> None:
        """Have the keeper end the snippet and all that it started, even one that was stopped."""
        limits.send([self.keeper], signal.SIGTERM)
        limits.send([self.keeper], signal.SIGCONT)

    def ended(self, maxrss: int) -> Message:
        """What to say of it once its keeper has ended."""
        ended, _, status = _read(self.folder / "status").partition(" ")
        if not self.limit and self.written() > self.request["output"]:
            self.limit = "output"
        return {
            "event": "ended",
            "job": self.request["job"],
            "status": int(status) if status else None,
            "limit": self.limit,
            "seconds": self.seconds(float(ended) if ended else time.monotonic()),
            "peak": self.proportional if self.limit == "memory" else max(self.peak, maxrss),
        }


class Supervisor:
    """The loop and what it holds. `fork` runs a job in this process's image, None: exec."""

    def __init__(self, messages: int, base: Path, fork: Fork | None = None) -> None:
        self.messages, self.base, self.fork = messages, base, fork
        self.watched: dict[int, Watched] = {}  # by the keeper's pid
        self._input = b""
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._inherited = (messages, self._wake, wake)

    def serve(self) -> None:
        """Work until stdin ends, then leave nothing behind."""
        try:
            while self._wait():
                self._look()
        finally:
            self._leave()
            shutil.rmtree(self.base, ignore_errors=True)

    def _wait(self) -> bool:
        """Sleep until something happens; start what was asked for. False: the runner left."""
        ready, _, _ = select.select([0, self._wake], [], [], _TICK if self.watched else None)
        if self._wake in ready:
            os.read(self._wake, 4096)
        if 0 not in ready:
            return True
        chunk = os.read(0, 65536)
        *lines, self._input = (self._input + chunk).split(b"\n")
        for line in lines:
            self._start(json.loads(line))
        return bool(chunk)

    def _start(self, request: JobRequest) -> None:
        pid = keeper.start(request, self.fork, self._inherited)
        self.watched[pid] = Watched(request, pid)
        self.send({"event": "started", "job": request["job"]})

    def _look(self) -> None:
        for pid, maxrss in self._ended():
            if one := self.watched.pop(pid, None):
                self.send(one.ended(maxrss))
        limits.kill_below(spared=self.watched)
        for one in self.watched.values():
            if not one.limit and (broken := one.broken_limit()):
                one.limit = broken
                one.ask_where()
                one.stop()

    @staticmethod
    def _ended() -> Iterator[tuple[int, int]]:
        """The children that have ended, with the most memory each had, in bytes."""
        while True:
            try:
                pid, _, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            yield pid, usage.ru_maxrss * _MAXRSS

    def _leave(self) -> None:
        """Every keeper ends its snippet; after a while, all are killed."""
        for one in self.watched.values():
            one.stop()
        deadline = time.monotonic() + _LEAVING
        while self.watched and time.monotonic() < deadline:
            for pid, _ in self._ended():
                self.watched.pop(pid, None)
            time.sleep(0.005)
        limits.end_below(seconds=0.5)

    def send(self, message: Message) -> None:
        """Tell the runner; where it has left, stdin says so too."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.messages, (json.dumps(message) + "\n").encode())


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


def main(argv: list[str]) -> None:
    """``python -m tclab.engine.worker.supervisor BASE SECONDS``; BASE is removed at the end.

    SECONDS is what warming may take, 0: stay cold.
    """
    base, warming = Path(argv[0]), float(argv[1])
    messages = os.dup(1)
    os.dup2(2, 1)  # whatever the warm-up prints goes to the log
    limits.adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    began = time.monotonic()
    fork, note = _warm_up(warming) if warming else (None, "")
    supervisor = Supervisor(messages, base, fork)
    supervisor.send({"event": "ready", "seconds": time.monotonic() - began, "note": note})
    supervisor.serve()
    os._exit(0)  # tearing torch down would take its time


def _warm_up(seconds: float) -> tuple[Fork | None, str]:
    """Import torch, compile once, and say how to run a job in a fork; or why not.

    After `seconds` this process ends, with where it was in its log: a library that hangs, hangs it.
    """
    try:
        faulthandler.dump_traceback_later(seconds, exit=True)
        from tclab.engine.worker import process, warm

        note = warm.warm_up()
        faulthandler.cancel_dump_traceback_later()
        note = note or warm.unsafe()
    except Exception as error:  # whatever it is: cold processes still show it or do without
        faulthandler.cancel_dump_traceback_later()
        return None, f"snippets run in cold processes: {type(error).__name__}: {error}"
    return (None, f"snippets run in cold processes: {note}") if note else (process.run_forked, "")


if __name__ == "__main__":
    main(sys.argv[1:])
