"""Prepare the processes that a snippet forks, and end them. The end of such a process does not end
the run.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import os
import sys
import threading
import types
from typing import NoReturn

from tclab.system import threads


def prepare() -> None:
    """Prepare every process that this one forks from now on."""
    os.register_at_fork(after_in_child=_prepare_child)


def _prepare_child() -> None:
    faulthandler.disable()  # only the snippet's own process may write to faulthandler's file
    threads.recreate_thread_pool()


def leave(error: BaseException | None, file: str) -> NoReturn:
    """End a forked process as Python would, after the snippet's `file` returned or raised."""
    status = _print_and_get_status(error, file)
    finish()
    os._exit(status)


def _print_and_get_status(error: BaseException | None, file: str) -> int:
    """Print the error to stderr, as Python does at its end, and return Python's exit status."""
    if error is None:
        return 0
    if not isinstance(error, SystemExit):
        tb = from_file(error.__traceback__, file)
        sys.excepthook(type(error), error.with_traceback(tb), tb)
        return 1
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def from_file(tb: types.TracebackType | None, file: str) -> types.TracebackType | None:
    """Return the part of a traceback from the first frame of `file` on; None if the traceback has
    no frame of `file`.
    """
    while tb is not None and tb.tb_frame.f_code.co_filename != file:
        tb = tb.tb_next
    return tb


def finish() -> None:
    """Do what the interpreter does at its end, before C++ is torn down: join threads, call exit
    hooks, flush streams.
    """
    # Join threads; this first ends the idle threads of pools.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(
            BaseException
        ):  # a snippet may have replaced the stream by any object, or None
            stream.flush()  # type: ignore[union-attr]
