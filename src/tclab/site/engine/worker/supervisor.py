"""Run as the supervisor: a process that starts snippets for the runner, limits them and reaps them.

The supervisor is a loop in one thread. Requests arrive as JSON lines on stdin, messages go as JSON
lines to the original stdout (`protocol`). When stdin ends, because the runner closed it or died,
the supervisor ends every snippet and removes its folder.

    → {"job": 3, "folder": "/tmp/…/3", "timeout": 120, "memory": 4294967296, "cold": false, …}
    ← {"event": "ready", "seconds": 6.1, "note": ""}
    ← {"event": "started", "job": 3}
    ← {"event": "ended", "job": 3, "status": 0, "limit": "", "seconds": 0.7, "peak": 310000000}

A warm supervisor has imported torch and compiled once, and forks the snippets; a cold supervisor
forks and then executes a new Python. The supervisor's children are the snippets' keepers
(`keeper`). A killed keeper left any other child.
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tclab.site.engine.worker import keeper
from tclab.site.engine.worker.keeper import Fork
from tclab.site.engine.worker.protocol import WRITTEN_FOLDERS, JobRequest, Limit, Message
from tclab.site.engine.worker.shared_memory import SharedMemory
from tclab.system import processes, surroundings

_TICK = 0.05  # seconds between two checks of the limits
_START = 60.0  # seconds that a process may take to reach the snippet's first line
_LAST_WORDS_SECONDS = 2.0  # seconds that a snippet gets to write its line before it is killed
# seconds that it gets after faulthandler has written the stack, or if it is far over its memory
# limit
_FEW_WORDS_SECONDS = 0.2
_PAUSE_FACTOR = 4  # after a slow check, pause this many times as long as the check took
_FAR_OVER = 1.5  # above this multiple of its memory limit a process gets at most _FEW_WORDS_SECONDS
_LEAVE_SECONDS = 4.0  # seconds for the keepers to end their snippets after the runner has left
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes per unit of ru_maxrss


class FileCount:
    """The number and the bytes of a snippet's files. The files are counted in short steps, so that
    a snippet with very many files does not delay the checks of the others.
    """

    def __init__(self) -> None:
        self._last = self._now = (0, 0)  # (bytes, number of files)
        self._sizes: Iterator[int] = iter(())

    def count(self, sizes: Callable[[], Iterator[int]]) -> None:
        """Continue the count for `_TICK` seconds. After the last file begin a new count with
        `sizes`.
        """
        until = time.monotonic() + _TICK
        for size in self._sizes:
            self._now = self._now[0] + size, self._now[1] + 1
            if time.monotonic() > until:
                return
        self._last, self._now, self._sizes = self._now, (0, 0), sizes()

    def exceed(self, most_bytes: int, most_files: int) -> bool:
        """Return whether the last count, or the one in progress, is above a limit."""
        counts = self._last, self._now
        return any(size > most_bytes or number > most_files for size, number in counts)


@dataclass
class WatchedSnippet:
    """A running snippet: its keeper, and the measurements against its limits."""

    request: JobRequest
    keeper: int  # the keeper's pid
    started: float = field(default_factory=time.monotonic)
    began: bool = False  # whether the snippet's first line was reached, from which its time counts
    peak: int = 0
    # bytes at the last count, with each shared page divided by the number of its users
    proportional: int = 0
    files: FileCount = field(default_factory=FileCount)
    shared: SharedMemory = field(default_factory=SharedMemory)
    next_count: dict[str, float] = field(default_factory=dict)
    limit: Limit = ""  # the limit that the snippet broke, or ''

    @property
    def folder(self) -> Path:
        return Path(self.request["folder"])

    def broken_limit(self) -> Limit:
        """Measure once, and return the limit that is broken now, '' for none."""
        used = self._resident()
        self.peak = max(self.peak, used)
        if used + self._shared_bytes() > self.request["memory"] < self._proportional():
            return "memory"
        if self.output_bytes() > self.request["output"]:
            return "output"
        if self._has_too_many_files():
            return "files"
        seconds = self.seconds(time.monotonic())
        return "timeout" if seconds > self.request["timeout"] + _START * (not self.began) else ""

    def _resident(self) -> int:
        return processes.resident_bytes(processes.find_descendants(self.keeper))

    def _proportional(self) -> int:
        with self._check_if_due("memory") as due:
            if due:
                below = processes.find_descendants(self.keeper)
                self.proportional = processes.proportional_bytes(below, self.shared.size())
        return self.proportional

    def _shared_bytes(self) -> int:
        """Return the bytes of the snippet's files in shared memory."""
        with self._check_if_due("shared") as due:
            if due:
                self.shared.find_files(processes.find_descendants(self.keeper))
        return self.shared.size()

    def _has_too_many_files(self) -> bool:
        """Return whether the snippet has too many files, or too many bytes in files."""
        with self._check_if_due("files") as due:
            if due:
                self.files.count(self._file_sizes)
        return self.files.exceed(self.request["files"], self.request["number"])

    def _file_sizes(self) -> Iterator[int]:
        """Yield the bytes of each file of the snippet, including removed files that are still
        open.
        """
        folder = self.request["folder"]
        yield from processes.iter_file_sizes(f"{folder}/{name}" for name in WRITTEN_FOLDERS)
        yield from processes.iter_removed_file_sizes(
            processes.find_descendants(self.keeper), folder
        )

    @contextlib.contextmanager
    def _check_if_due(self, check_name: str) -> Iterator[bool]:
        """Yield whether a slow check is due now. Pauses between slow checks keep the cores free."""
        began = time.monotonic()
        due = began >= self.next_count.get(check_name, 0.0)
        yield due
        if due:
            now = time.monotonic()
            self.next_count[check_name] = now + _PAUSE_FACTOR * max(now - began, _TICK)

    def seconds(self, now: float) -> float:
        """Return the seconds that the snippet has run, without the start of its process."""
        if not self.began and (text := _read(self.folder / "began")):
            self.began, self.started = True, float(text)
        return max(0.0, now - self.started)

    def output_bytes(self) -> int:
        """Return the bytes of output so far, on stdout or on stderr: the larger number of the
        two.
        """
        return max(_file_size(self.folder / name) for name in ("stdout", "stderr"))

    def ask_where(self) -> None:
        """Ask the process to write its line and its Python stack, and wait a moment for them."""
        if not (pid := _read(self.folder / "pid")):
            return
        processes.send_signal([int(pid)], signal.SIGUSR2)
        hurried, end = False, time.monotonic() + _LAST_WORDS_SECONDS
        while time.monotonic() < end and not _file_size(self.folder / "where"):
            stack, far_over = _file_size(self.folder / "fault"), self._is_far_over()
            if stack and far_over:
                return
            if not hurried and (stack or far_over):
                hurried, end = True, time.monotonic() + _FEW_WORDS_SECONDS
            time.sleep(0.005)

    def _is_far_over(self) -> bool:
        return self._resident() > _FAR_OVER * self.request["memory"]

    def stop(self) -> None:
        """Make the keeper end the snippet and its processes. SIGCONT wakes a suspended one."""
        self.shared.find_files(processes.find_descendants(self.keeper))
        processes.send_signal([self.keeper], signal.SIGTERM)
        processes.send_signal([self.keeper], signal.SIGCONT)

    def end_message(self, maxrss: int) -> Message:
        """Return the message about the job after its keeper has ended, and remove its shared
        memory.
        """
        self.shared.remove()
        ended, _, status = _read(self.folder / "status").partition(" ")
        if not self.limit and self.output_bytes() > self.request["output"]:
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
    """The supervisor's loop and state. `fork` runs a job in a fork of this process; if it is None,
    jobs run in a new Python.
    """

    def __init__(self, messages: int, base: Path, fork: Fork | None = None) -> None:
        self.messages, self.base, self.fork = messages, base, fork
        self.watched: dict[int, WatchedSnippet] = {}  # pid of the keeper → its snippet
        self._input = b""
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._inherited = (messages, self._wake, wake)

    def serve(self) -> None:
        """Serve requests until stdin ends, then end all processes and remove the folder."""
        try:
            while self._wait():
                self._check_jobs()
        finally:
            self._end_jobs()
            shutil.rmtree(self.base, ignore_errors=True)

    def _wait(self) -> bool:
        """Wait for a request, a signal or the next check, and start new jobs; return False if stdin
        ended.
        """
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
        self.watched[pid] = WatchedSnippet(request, pid)
        self.send({"event": "started", "job": request["job"]})

    def _check_jobs(self) -> None:
        for pid, maxrss in self._reap_children():
            if one := self.watched.pop(pid, None):
                self.send(one.end_message(maxrss))
        processes.kill_descendants(spared_pids=self.watched)
        for one in self.watched.values():
            if not one.limit and (broken := one.broken_limit()):
                one.limit = broken
                one.ask_where()
                one.stop()

    @staticmethod
    def _reap_children() -> Iterator[tuple[int, int]]:
        """Reap the children that have ended; yield (pid, peak memory in bytes) of each."""
        while True:
            try:
                pid, _, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            yield pid, usage.ru_maxrss * _MAXRSS_UNIT

    def _end_jobs(self) -> None:
        """Make every keeper end its snippet; after a while, kill the remaining processes."""
        for one in self.watched.values():
            one.stop()
        deadline = time.monotonic() + _LEAVE_SECONDS
        while self.watched and time.monotonic() < deadline:
            for pid, _ in self._reap_children():
                if ended := self.watched.pop(pid, None):
                    ended.shared.remove()
            time.sleep(0.005)
        processes.end_all_descendants(seconds=0.5)

    def send(self, message: Message) -> None:
        """Send a message to the runner. If the runner has left, stdin ends as well."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.messages, (json.dumps(message) + "\n").encode())


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def main(argv: list[str]) -> None:
    """Run ``python -m tclab.site.engine.worker.supervisor BASE SECONDS``, and remove BASE at the
    end.

    SECONDS is the time limit of the warm-up; with 0 the supervisor stays cold.
    """
    base, warming = Path(argv[0]), float(argv[1])
    messages = os.dup(1)
    os.dup2(2, 1)  # the log gets the output of the warm-up
    surroundings.set_run_limits()
    surroundings.hide_host_name()
    processes.adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    began = time.monotonic()
    fork, note = _warm_up(warming) if warming else (None, "")
    supervisor = Supervisor(messages, base, fork)
    supervisor.send({"event": "ready", "seconds": time.monotonic() - began, "note": note})
    supervisor.serve()
    os._exit(0)  # skip the teardown of torch, which is slow


def _warm_up(seconds: float) -> tuple[Fork | None, str]:
    """Import torch and compile once; return the function for a fork, or None and the reason.

    After `seconds` this process exits, with its stack in the log, because a library may hang.
    """
    try:
        faulthandler.dump_traceback_later(seconds, exit=True)
        from tclab.site.engine.worker import process, warm

        note = warm.warm_up()
        faulthandler.cancel_dump_traceback_later()
        note = note or warm.fork_problem()
    except Exception as error:  # stay cold: cold processes will show the error, or avoid it
        faulthandler.cancel_dump_traceback_later()
        return None, f"snippets run in cold processes: {type(error).__name__}: {error}"
    return (None, f"snippets run in cold processes: {note}") if note else (process.run_forked, "")


if __name__ == "__main__":
    main(sys.argv[1:])
