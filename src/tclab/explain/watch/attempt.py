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
from typing import TYPE_CHECKING

from tclab.errors import TclabError
from tclab.explain import ExplainRequest, Report, Step, WarningLog, explain_named, failures
from tclab.explain.watch import files

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

    #: What starts processes.
    Processes = ForkServerContext | SpawnContext

_WARM = "tclab.explain.watch.warm"


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
    """There is no report: the error, or what is known of one that tclab does not raise, and
    warnings of other packages.
    """

    error: TclabError | str
    warnings: tuple[str, ...] = ()


Message = Step | Files | Done | Failed


def context() -> Processes:
    """How processes are started; the first of them waits for PyTorch's import."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    forkserver = multiprocessing.get_context("forkserver")
    forkserver.set_forkserver_preload([_WARM])
    return forkserver


class Attempt:
    """An explanation under way. Its last message is Done or Failed."""

    def __init__(self, processes: Processes, request: ExplainRequest) -> None:
        self.since, self.place = time.time(), request.spec
        self.messages_in, theirs = processes.Pipe(duplex=False)
        self.process = processes.Process(target=_explain, args=(request, theirs))
        self.process.start()
        theirs.close()

    def messages(self, seconds: float) -> Iterator[Message]:
        """The messages that have come; if none has, the first that comes within `seconds`."""
        while self.messages_in.poll(seconds):
            try:
                yield self.messages_in.recv()
            except EOFError:  # it ended without a last word
                self.process.join()
                yield Failed(failures.of_the_process(self.place, self.process.exitcode or 0))
                return
            seconds = 0.0

    def end(self) -> None:
        """End it with all it has started."""
        assert self.process.pid is not None  # it was started
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.messages_in.close()


# --------------------------------------------------------------------------- in the process


def _explain(request: ExplainRequest, parent: Connection) -> None:
    os.setsid()  # Ctrl-C is the watch's; and all that this starts can be ended together
    warnings, read = WarningLog(), set[str]()
    last: Message
    try:
        last = Done(explain_named(request, on_step=parent.send, warnings=warnings))
    except TclabError as error:
        read, last = files.in_error(error), Failed(error, tuple(warnings.texts))
    except BaseException as error:
        read, last = files.in_error(error), Failed(traceback.format_exc())
    parent.send(Files(frozenset(read | files.imported())))
    parent.send(last)
