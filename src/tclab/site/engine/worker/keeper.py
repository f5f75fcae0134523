"""Run as the keeper: a process that starts one snippet, and ends every process of the snippet.

Every process that a snippet starts, in any session, is a descendant of the snippet's keeper, which
adopts the processes whose parent has died. So each process belongs to a known snippet. If a keeper
has no children, no process of the snippet is alive.

The keeper ends the snippet when the supervisor asks for it (SIGTERM) or dies. The keeper leaves two
files in the job's folder: ``pid``, with the pid of the snippet's process, and ``status``, with the
time of its end and its exit status.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tclab.site.engine.worker.protocol import JobRequest
from tclab.system import processes

#: A function that runs the job of a folder in the current process.
Fork = Callable[[Path], NoReturn]

_NOT_STARTED_STATUS = 70  # the exit status of a process that failed before it ran the snippet


class _StopRequested(BaseException):
    """Raised if the supervisor wants the snippet to end, or has died."""


def start(request: JobRequest, fork: Fork | None, descriptors: Iterable[int]) -> int:
    """Start a keeper and return its pid. For `fork` see `Supervisor`; the keeper closes
    `descriptors`.
    """
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _run_keeper(Path(request["folder"]), request, fork, parent, descriptors)
    return pid


def _run_keeper(
    folder: Path, request: JobRequest, fork: Fork | None, parent: int, descriptors: Iterable[int]
) -> NoReturn:
    """Run the keeper: start the snippet, wait for it, end its remaining processes."""
    status = ""
    try:
        _restore_signals()
        processes.adopt_orphans()
        signal.signal(signal.SIGTERM, _request_stop)
        processes.request_signal_at_parent_death(parent, signal.SIGTERM)
        for descriptor in descriptors:
            os.close(descriptor)
        with contextlib.suppress(_StopRequested):
            pid = _start_snippet(folder, request, fork)
            write(folder / "pid", str(pid))
            status = str(_wait_for(pid))
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        write(folder / "status", f"{time.monotonic()} {status}")
    finally:  # run also after an error, such as for a folder that the snippet removed
        processes.end_all_descendants()
        os._exit(0)


def _request_stop(_number: int, _frame: FrameType | None) -> None:
    raise _StopRequested


def write(path: Path, text: str) -> None:
    """Replace a file in one step, so that a reader sees the whole text or none."""
    path.with_suffix(".new").write_text(text)
    os.replace(path.with_suffix(".new"), path)


def _wait_for(pid: int) -> int:
    """Wait for `pid`; return its exit status, negative for a signal. Also reap other children,
    which are orphans.
    """
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


# --------------------------------------------------------------------------- the snippet


def _start_snippet(folder: Path, request: JobRequest, fork: Fork | None) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become_snippet(folder, request, fork, parent)
    return pid


def _become_snippet(folder: Path, request: JobRequest, fork: Fork | None, parent: int) -> NoReturn:
    """Become the snippet's process: set session, signals, streams and folder, then run the
    snippet.
    """
    try:
        os.setsid()
        processes.request_signal_at_parent_death(parent)
        processes.volunteer_for_oom_kill()
        _restore_signals()
        _redirect(folder)
        os.chdir(folder / "work")
        os.umask(0o022)
        if fork and not request["cold"]:
            os.environ.update({n: v for n, v in request["variables"].items() if v is not None})
            fork(folder)
        command = [sys.executable, "-m", "tclab.site.engine.worker.process", str(folder)]
        os.execve(sys.executable, command, _merge_variables(request["variables"]))
    finally:
        os._exit(_NOT_STARTED_STATUS)


def _merge_variables(changes: dict[str, str | None]) -> dict[str, str]:
    """Return the variables of this process with `changes`; None removes a variable."""
    merged = {**os.environ, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def _restore_signals() -> None:
    """Restore the signal handlers with which Python starts."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def _redirect(folder: Path) -> None:
    """Redirect stdin to /dev/null, and stdout and stderr to the job's files."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for target, path, mode in (
        (0, Path(os.devnull), os.O_RDONLY),
        (1, folder / "stdout", flags),
        (2, folder / "stderr", flags),
    ):
        descriptor = os.open(path, mode, 0o600)
        os.dup2(descriptor, target)
        os.close(descriptor)
