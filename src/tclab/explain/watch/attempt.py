"""One explanation in a process of its own: the user's file is imported anew, and whatever it does,
the watch goes on.

The process is forked from one that has PyTorch imported already (Python's forkserver), where the
platform has such a thing; else it starts from nothing.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from tclab.errors import TclabError
from tclab.explain import Held, Report, explain_named
from tclab.explain.watch import files

_WARM = "tclab.explain.watch.warm"


@dataclass(frozen=True)
class Request:
    """What the command line asks for: the arguments of `explain_named`."""

    spec: str
    target: str | None = None
    backward: bool = False
    inputs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    assume: tuple[str, ...] = ()
    long_kernels: bool = False


@dataclass(frozen=True)
class Step:
    """What goes on now."""

    text: str


@dataclass(frozen=True)
class Files:
    """The user's files that the explanation read."""

    paths: frozenset[str]


@dataclass(frozen=True)
class Done:
    """The report."""

    report: Report


@dataclass(frozen=True)
class Failed:
    """There is no report: the message, the place it names, and warnings of other packages."""

    text: str
    place: str = ""
    warnings: tuple[str, ...] = ()


Message = Step | Files | Done | Failed


def context() -> Any:
    """How processes are started; the first of them waits for PyTorch's import."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    chosen = multiprocessing.get_context("forkserver")
    chosen.set_forkserver_preload([_WARM])
    return chosen


class Attempt:
    """An explanation that goes on. Its last message is Done or Failed."""

    def __init__(self, chosen: Any, request: Request) -> None:
        self.since = time.time()
        self.heard, theirs = chosen.Pipe(duplex=False)
        self.process = chosen.Process(target=_explain, args=(request, theirs))
        self.process.start()
        theirs.close()

    def messages(self, seconds: float) -> Iterator[Message]:
        """What was said until now; if nothing, what is said first within `seconds`."""
        while self.heard.poll(seconds):
            try:
                yield self.heard.recv()
            except EOFError:  # it ended without a last word
                self.process.join()
                yield Failed(_ended(self.process.exitcode))
                return
            seconds = 0.0

    def end(self) -> None:
        """End it with all it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.heard.close()


def _ended(status: int) -> str:
    how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
    return f"the process of the explanation was ended {how}, without a message"


# --------------------------------------------------------------------------- in the process


def _explain(request: Request, parent: Connection) -> None:
    os.setsid()  # Ctrl-C is the watch's; and all that this starts can be ended together
    kept, found = Held(), set[str]()
    last: Message
    try:
        last = Done(_report(request, parent, kept))
    except TclabError as error:
        found, last = files.in_error(error), Failed(str(error), error.place, tuple(kept.texts))
    except BaseException as error:
        found, last = files.in_error(error), Failed(traceback.format_exc())
    parent.send(Files(frozenset(found | files.imported())))
    parent.send(last)


def _report(request: Request, parent: Connection, kept: Held) -> Report:
    return explain_named(
        request.spec,
        target=request.target,
        backward=request.backward,
        inputs=request.inputs,
        options=request.options,
        assume=request.assume,
        long_kernels=request.long_kernels,
        on_step=lambda step: parent.send(Step(step)),
        kept=kept,
    )
