"""A process that a snippet forks: it has what the snippet made until then, and ends no run."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import os
import sys
import threading
import types
from typing import NoReturn

from tclab import threads


def prepare() -> None:
    """Have each process that this one forks from now on be ready for it."""
    os.register_at_fork(after_in_child=_begin)


def _begin() -> None:
    faulthandler.disable()  # the file it writes tells of the snippet's own process
    threads.settle()


def leave(error: BaseException | None, file: str) -> NoReturn:
    """End a forked process as Python does, after the snippet's `file` returned or raised."""
    status = _status(error, file)
    finish()
    os._exit(status)


def _status(error: BaseException | None, file: str) -> int:
    """The exit status of a Python that ends so; it says on stderr what it was."""
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
    """The part of a traceback that begins in `file`; None where none does."""
    while tb is not None and tb.tb_frame.f_code.co_filename != file:
        tb = tb.tb_next
    return tb


def finish() -> None:
    """What the interpreter does at its end, before C++ is torn down."""
    # Joins threads, and first ends the idle ones of thread pools.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(BaseException):  # a snippet may put anything there, or None
            stream.flush()  # type: ignore[union-attr]
