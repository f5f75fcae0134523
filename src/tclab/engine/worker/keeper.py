"""The process that stands over one snippet: it starts it, and ends with all that it started.

Every process a snippet starts, in whatever session, is a descendant of its keeper: the keeper
adopts those whose parent has gone. So which process belongs to which snippet is never guessed,
and once the keeper has no child nothing of the snippet lives.

The keeper ends the snippet at the supervisor's word (SIGTERM), and of itself when the supervisor
dies. It leaves two files in the job's folder: ``pid``, of the snippet's process, and ``status``.
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

from tclab.engine.worker import limits
from tclab.engine.worker.protocol import JobRequest

#: Runs the job in this folder in the present process.
Fork = Callable[[Path], NoReturn]

_NO_PROCESS = 70  # the exit status of a process that did not become the snippet


class _Enough(BaseException):
    """The supervisor wants the snippet to end, or has died."""


def start(request: JobRequest, fork: Fork | None, inherited: Iterable[int]) -> int:
    """The pid of a new keeper. `fork` as the supervisor's; `inherited` is closed in the keeper."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _keep(Path(request["folder"]), request, fork, parent, inherited)
    return pid


def _keep(
    folder: Path, request: JobRequest, fork: Fork | None, parent: int, inherited: Iterable[int]
) -> NoReturn:
    """In the new process: start the snippet, wait for it, end what it left."""
    status = ""
    try:
        _plain_signals()
        limits.adopt_orphans()
        signal.signal(signal.SIGTERM, _enough)
        limits.hear_of_parents_death(parent, signal.SIGTERM)
        for descriptor in inherited:
            os.close(descriptor)
        with contextlib.suppress(_Enough):
            pid = _start_snippet(folder, request, fork)
            write(folder / "pid", str(pid))
            status = str(_wait_for(pid))
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        write(folder / "status", f"{time.monotonic()} {status}")
    finally:  # whatever the snippet did to its folder
        limits.end_below()
        os._exit(0)


def _enough(_number: int, _frame: FrameType | None) -> None:
    raise _Enough


def write(path: Path, text: str) -> None:
    """The whole text or nothing, for whoever reads meanwhile."""
    path.with_suffix(".new").write_text(text)
    os.replace(path.with_suffix(".new"), path)


def _wait_for(pid: int) -> int:
    """The exit status of `pid`, negative for a signal. Other children that end are orphans."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


# --------------------------------------------------------------------------- the snippet


def _start_snippet(folder: Path, request: JobRequest, fork: Fork | None) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(folder, request, fork, parent)
    return pid


def _become(folder: Path, request: JobRequest, fork: Fork | None, parent: int) -> NoReturn:
    """In the new process: cut every tie to this one, then run the snippet."""
    try:
        os.setsid()
        limits.hear_of_parents_death(parent)
        limits.be_killed_first()
        _plain_signals()
        _redirect(folder)
        os.chdir(folder / "work")
        if fork and not request["cold"]:
            os.environ.update({n: v for n, v in request["variables"].items() if v is not None})
            fork(folder)
        command = [sys.executable, "-m", "tclab.engine.worker.process", str(folder)]
        os.execve(sys.executable, command, _variables(request["variables"]))
    finally:
        os._exit(_NO_PROCESS)


def _variables(changes: dict[str, str | None]) -> dict[str, str]:
    """This process's variables with `changes`; None removes one."""
    merged = {**os.environ, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def _plain_signals() -> None:
    """Signals as Python starts."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


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
