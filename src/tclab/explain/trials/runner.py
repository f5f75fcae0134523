"""Request trials from a child process, within a budget of seconds for all of them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tclab.explain.child_process import ChildProcess
from tclab.explain.request import ExplainRequest
from tclab.explain.trials.remedy import READY, Remedy, TrialResult

#: The seconds that all trials of a report may take together.
SECONDS = 90.0
#: The most seconds to wait for the import of PyTorch, which do not count as seconds of trials.
_START = 90.0


@dataclass
class TrialRunner:
    """Tries remedies on the function or module that `request` names. Without a request, as for a
    function passed as an object, it tries nothing.
    """

    request: ExplainRequest | None
    seconds: float = SECONDS
    process: ChildProcess | None = field(default=None, init=False)
    known: list[tuple[Remedy, TrialResult]] = field(default_factory=list, init=False)

    def run(self, remedy: Remedy) -> TrialResult | None:
        """Make the calls with the remedy; return None if the trial was not made or did not end. A
        remedy that several functions share is tried once.
        """
        key = replace(remedy, description="")
        for tried, result in self.known:
            if tried == key:
                return result
        found = self._try(remedy)
        if found is not None:
            self.known.append((key, found))
        return found

    def _try(self, remedy: Remedy) -> TrialResult | None:
        if self.request is None or ":" not in self.request.spec or self.seconds <= 0:
            return None
        process = self._wait_until_started()
        if process is None:
            return None
        began = time.monotonic()
        request = self.request
        if request.target is not None and request.target.gfx:
            request = replace(request, target=None)  # the process has imported Inductor for others
        result = process.ask((os.getcwd(), request, remedy), self.seconds)
        self.seconds -= time.monotonic() - began
        return result if isinstance(result, TrialResult) else None

    def _wait_until_started(self) -> ChildProcess | None:
        """Return the process once it has imported PyTorch; None if that takes too long."""
        if self.process is None or self.process.ended:
            self.process = ChildProcess("tclab.explain.trials.child")
            if self.process.ask(None, _START) != READY:
                self.seconds = 0
                return None
        return self.process

    def end(self) -> None:
        """End the process and all processes that it started."""
        if self.process is not None:
            self.process.end()


@contextmanager
def open_runner(request: ExplainRequest | None) -> Iterator[TrialRunner]:
    """Yield a `TrialRunner`, and end its process after the block."""
    runner = TrialRunner(request)
    try:
        yield runner
    finally:
        runner.end()
