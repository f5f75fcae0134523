"""Run the user's code in a child process and check how the child ends. So a report that
``os._exit(0)`` or a crash cut short does not look complete.
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
from typing import IO, Any, BinaryIO

from tclab.cli import terminal
from tclab.explain import failures, preload
from tclab.system import streams
from tclab.system.processes import request_signal_at_parent_death

#: The signals for which the parent waits: SIGCHLD, which reports the child's end, and signals that
#: may be sent only to the command.
_SIGNALS = {
    getattr(signal, name)
    for name in ("SIGCHLD", "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)  # Windows has few of these signals
}
#: The highest `si_code` of a signal that a process sent. The child also gets a signal from the
#: terminal, but not one from a process.
_HIGHEST_PROCESS_CODE = 0
#: Seconds between checks of a child, and seconds that it has to exit after its work.
_POLL, _GRACE = 0.5, 5.0
#: The file to which this process writes its stacks; empty until `run` has started.
_fault_files: list[IO[Any]] = []


def run(work: Callable[[], int]) -> int:
    """Run `work` in a forked child and return its status; if the child ends before `work` does,
    print a message and return 1. On systems other than Linux, run `work` in this process. The
    output of the user's code goes to stderr.
    """
    if not sys.platform.startswith("linux"):
        streams.reserve_stdout()
        _fault_files.append(sys.stderr)
        return work()
    preload.exit_quickly()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    parent, (pipe_in, pipe_out), fault = os.getpid(), os.pipe(), _memory_file("fault")
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        request_signal_at_parent_death(parent)
        faulthandler.enable(fault)
        _fault_files.append(fault)
        streams.reserve_stdout()
        own, status = os.getpid(), 1
        try:
            status = work()
            return status
        finally:
            if os.getpid() == own:  # not in a process that the user's code forked
                os.write(pipe_out, bytes([status]))
    reported, status, received = _wait(child, pipe_in)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return _find_status(status, received, reported, fault)


def limit_seconds(seconds: float) -> None:
    """After `seconds`, write the Python stacks of this process's threads and end the process, even
    if it hangs in C++. Do nothing if `run` was not called, as in a test, whose process is not this
    command's own.
    """
    for file in _fault_files:
        faulthandler.dump_traceback_later(seconds, exit=True, file=file)


def _memory_file(name: str) -> BinaryIO:
    """Open a file in memory, because the disk may be full."""
    return open(os.memfd_create(name), "r+b")


def _wait(child: int, pipe_in: int) -> tuple[int | None, int, set[int]]:
    """Wait for the child. Return the status that it reported for its work (None if it reported
    none), the exit code of its process (negative for a signal), and the signals received before it
    ended. A child that does not exit after its work, because a thread of the user's code still
    runs, is killed.
    """
    received, reported, deadline = set[int](), None, math.inf
    os.set_blocking(pipe_in, False)
    while True:
        came = signal.sigtimedwait(_SIGNALS, _POLL)
        if reported is None and (reported := _read_status(pipe_in)) is not None:
            deadline = time.monotonic() + _GRACE
        if came is None or came.si_signo == signal.SIGCHLD:
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                last = _read_status(pipe_in) if reported is None else reported
                return last, os.waitstatus_to_exitcode(status), received
            continue
        received.add(came.si_signo)
        if came.si_code <= _HIGHEST_PROCESS_CODE:
            os.kill(child, came.si_signo)


def _read_status(pipe_in: int) -> int | None:
    """Return the status that the child reported; None if it reported none. Do not wait for the
    pipe's end, because processes that the child started can keep it open.
    """
    with contextlib.suppress(BlockingIOError):
        said = os.read(pipe_in, 1)
        return said[0] if said else None
    return None


def _find_status(
    status: int, received_signals: set[int], reported_status: int | None, fault: BinaryIO
) -> int:
    if reported_status is not None:
        return reported_status if status < 0 else status
    if -status in received_signals:  # the command itself got the signal
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    fault.seek(0)
    stack = fault.read().decode("utf-8", "replace")
    terminal.print_error(failures.explain_process_end("tclab explain", status, stack))
    return 1
