"""The user's code runs in a child of the command, which sees how it ends: code that leaves with
``os._exit(0)``, or takes the process down, must not look like a report that was made.
"""

from __future__ import annotations

import contextlib
import faulthandler
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import BinaryIO

from tclab.cli import terminal
from tclab.explain import failures, preload
from tclab.system import streams
from tclab.system.processes import request_signal_at_parent_death

#: What the parent waits for: the child's end, and what is sent to the command alone.
_HEARD = {
    getattr(signal, name)
    for name in ("SIGCHLD", "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)  # Windows has two of them
}
#: A signal with this code or a lower one was sent to one process; the terminal's go to all.
_BY_A_PROCESS = 0
#: Seconds between looks at a child, and those that one which has done its work has to end.
_LOOK, _GRACE = 0.5, 5.0


def run(work: Callable[[], int]) -> int:
    """The status of `work`, done in a forked child; 1 and a message where that does not come to
    its end. Where the platform cannot do so, the work is done here. What the user's code prints
    goes to stderr.
    """
    if not sys.platform.startswith("linux"):
        streams.reserve_stdout()
        return work()
    preload.exit_quickly()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    parent, (ended, ends), fault = os.getpid(), os.pipe(), _in_memory("fault")
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        request_signal_at_parent_death(parent)
        faulthandler.enable(fault)
        streams.reserve_stdout()
        own, status = os.getpid(), 1
        try:
            status = work()
            return status
        finally:
            if os.getpid() == own:  # and not a process that the user's code forked
                os.write(ends, bytes([status]))
    word, status, heard = _wait(child, ended)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return _status(status, heard, word, fault)


def _in_memory(name: str) -> BinaryIO:
    """A file that needs no disk, which may be full."""
    return open(os.memfd_create(name), "r+b")


def _wait(child: int, ended: int) -> tuple[int | None, int, set[int]]:
    """The status that the child said its work ended with, None where it said nothing; its status
    as a process, below 0 for a signal; and the signals that came before it ended. A child that
    has done its work and does not end, since a thread of the user's goes on, is killed.
    """
    heard, word, deadline = set[int](), None, math.inf
    os.set_blocking(ended, False)
    while True:
        came = signal.sigtimedwait(_HEARD, _LOOK)
        if word is None and (word := _word(ended)) is not None:
            deadline = time.monotonic() + _GRACE
        if came is None or came.si_signo == signal.SIGCHLD:
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                last = _word(ended) if word is None else word
                return last, os.waitstatus_to_exitcode(status), heard
            continue
        heard.add(came.si_signo)
        if came.si_code <= _BY_A_PROCESS:
            os.kill(child, came.si_signo)


def _word(ended: int) -> int | None:
    """What the child said when it came to its end. What it left running may hold the pipe."""
    with contextlib.suppress(BlockingIOError):
        said = os.read(ended, 1)
        return said[0] if said else None
    return None


def _status(status: int, heard: set[int], word: int | None, fault: BinaryIO) -> int:
    if word is not None:
        return word if status < 0 else status
    if -status in heard:  # it was meant for the command
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    fault.seek(0)
    stack = fault.read().decode("utf-8", "replace")
    terminal.error(failures.of_the_process("tclab explain", status, stack))
    return 1
