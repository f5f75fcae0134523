"""Make one explanation in a fresh process, which imports the user's file anew. A failure in this
process does not end the watch.

Where Python's forkserver works, the process is forked from one that has already imported PyTorch;
elsewhere the process starts from nothing.
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

    #: The context of multiprocessing that starts processes.
    Processes = ForkServerContext | SpawnContext

_WARM = "tclab.explain.watch.warm"


@dataclass(frozen=True)
class FilesRead:
    """The user's files that the explanation read."""

    paths: frozenset[str]


@dataclass(frozen=True)
class Done:
    """The explanation succeeded."""

    report: Report


@dataclass(frozen=True)
class Failed:
    """The explanation failed: the error, the traceback if tclab did not raise it, and warnings of
    other packages.
    """

    error: TclabError | str
    warnings: tuple[str, ...] = ()


Message = Step | FilesRead | Done | Failed


def context() -> Processes:
    """Return the multiprocessing context that starts processes. The first process that it starts
    waits until PyTorch is imported.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    forkserver = multiprocessing.get_context("forkserver")
    forkserver.set_forkserver_preload([_WARM])
    return forkserver


class Attempt:
    """A running explanation. Its last message is Done or Failed."""

    def __init__(self, processes: Processes, request: ExplainRequest) -> None:
        self.since, self.place = time.time(), request.spec
        self.messages_in, theirs = processes.Pipe(duplex=False)
        self.process = processes.Process(target=_explain, args=(request, theirs))
        self.process.start()
        theirs.close()

    def messages(self, seconds: float) -> Iterator[Message]:
        """Yield the messages that have arrived; if none has, wait for one up to `seconds`."""
        while self.messages_in.poll(seconds):
            try:
                yield self.messages_in.recv()
            except EOFError:  # the process ended without sending Done or Failed
                self.process.join()
                yield Failed(failures.explain_process_end(self.place, self.process.exitcode or 0))
                return
            seconds = 0.0

    def end(self) -> None:
        """Kill the process and all processes that it started."""
        assert self.process.pid is not None  # __init__ started the process
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.messages_in.close()


# --------------------------------------------------------------------------- in the process


def _explain(request: ExplainRequest, parent: Connection) -> None:
    # with a session of its own, Ctrl-C in the terminal does not reach the process, and `end` has
    # one group to kill
    os.setsid()
    warnings, read = WarningLog(), set[str]()
    last: Message
    try:
        last = Done(explain_named(request, on_step=parent.send, warnings=warnings))
    except TclabError as error:
        read, last = files.files_in_error(error), Failed(error, tuple(warnings.texts))
    except BaseException as error:
        read, last = files.files_in_error(error), Failed(traceback.format_exc())
    parent.send(FilesRead(frozenset(read | files.imported_files())))
    parent.send(last)
