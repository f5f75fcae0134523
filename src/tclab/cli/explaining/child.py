"""The user's code runs in a child of the command, which sees how it ends: code that leaves with
``os._exit(0)``, or takes the process down, must not look like a report that was made.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
from collections.abc import Callable
from typing import BinaryIO

from tclab import terminal
from tclab.engine.worker.limits import hear_of_parents_death
from tclab.explain import failures, preload

#: What the parent waits for: the child's end, and what is sent to the command alone.
_HEARD = {
    getattr(signal, name)
    for name in ("SIGCHLD", "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)  # Windows has two of them
}
#: A signal with this code or a lower one was sent to one process; the terminal's go to all.
_BY_A_PROCESS = 0


def run(work: Callable[[], int]) -> int:
    """The status of `work`, done in a forked child; 1 and a message where that does not come to
    its end. Where the platform cannot do so, the work is done here.
    """
    if not sys.platform.startswith("linux"):
        return work()
    preload.exit_quickly()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    parent, (ended, ends), fault = os.getpid(), os.pipe(), _in_memory("fault")
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        hear_of_parents_death(parent)
        faulthandler.enable(fault)
        own = os.getpid()
        try:
            return work()
        finally:
            if os.getpid() == own:  # and not a process that the user's code forked
                os.write(ends, b"x")
    status, heard = _wait(child)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return _status(status, heard, came_to_its_end=_has_word(ended), fault=fault)


def _in_memory(name: str) -> BinaryIO:
    """A file that needs no disk, which may be full."""
    return open(os.memfd_create(name), "r+b")


def _wait(child: int) -> tuple[int, set[int]]:
    """The child's status, below 0 for a signal, and the signals that came before it ended."""
    heard = set[int]()
    while True:
        came = signal.sigwaitinfo(_HEARD)
        if came.si_signo == signal.SIGCHLD:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status), heard
            continue
        heard.add(came.si_signo)
        if came.si_code <= _BY_A_PROCESS:
            os.kill(child, came.si_signo)


def _has_word(ended: int) -> bool:
    """Whether the child said that it came to its end. What it left running may hold the pipe."""
    os.set_blocking(ended, False)
    with contextlib.suppress(BlockingIOError):
        return bool(os.read(ended, 1))
    return False


def _status(status: int, heard: set[int], *, came_to_its_end: bool, fault: BinaryIO) -> int:
    if came_to_its_end:
        return status if status >= 0 else 1
    if -status in heard:  # it was meant for the command
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    fault.seek(0)
    stack = fault.read().decode("utf-8", "replace")
    terminal.error(failures.of_the_process("tclab explain", status, stack))
    return 1
