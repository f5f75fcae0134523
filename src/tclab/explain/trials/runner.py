"""Request trials from a child process, within a budget of seconds for all of them."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tclab.explain.request import ExplainRequest
from tclab.explain.trials.remedy import READY, Remedy, TrialResult

#: The seconds that all trials of a report may take together.
SECONDS = 90.0
#: The most seconds to wait for the import of PyTorch, which do not count as seconds of trials.
_START = 90.0
_SRC = Path(__file__).resolve().parents[3]


@dataclass
class TrialRunner:
    """Tries remedies on the function or module that `request` names. Without a request, as for a
    function passed as an object, it tries nothing.
    """

    request: ExplainRequest | None
    seconds: float = SECONDS
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def run(self, remedy: Remedy) -> TrialResult | None:
        """Make the calls with the remedy; return None if the trial was not made or did not end."""
        if self.request is None or ":" not in self.request.spec or self.seconds <= 0:
            return None
        process = self._wait_until_started()
        if process is None:
            return None
        began = time.monotonic()
        result = _answer(process, (os.getcwd(), self.request, remedy), self.seconds)
        self.seconds -= time.monotonic() - began
        return result if isinstance(result, TrialResult) else None

    def _wait_until_started(self) -> subprocess.Popen[bytes] | None:
        """Return the process once it has imported PyTorch; None if that takes too long."""
        if self.process is None or self.process.poll() is not None:
            path = os.pathsep.join(filter(None, (str(_SRC), os.environ.get("PYTHONPATH"))))
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tclab.explain.trials.child"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
            )  # fmt: skip
            if _answer(self.process, None, _START) != READY:
                self.seconds = 0
                return None
        return self.process

    def end(self) -> None:
        """Kill the process and all processes that it started."""
        if self.process is not None:
            _end(self.process)
            self.process.communicate()


def _answer(process: subprocess.Popen[bytes], question: object, seconds: float) -> object:
    """Return the process's answer; if none comes within `seconds`, kill the process and return
    None.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    timer = threading.Timer(seconds, _end, (process,))
    timer.start()
    try:
        if question is not None:
            pickle.dump(question, process.stdin)
            process.stdin.flush()
        return pickle.load(process.stdout)
    except (OSError, EOFError, pickle.PickleError):
        return None
    finally:
        timer.cancel()


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


@contextmanager
def open_runner(request: ExplainRequest | None) -> Iterator[TrialRunner]:
    """Yield a `TrialRunner`, and end its process after the block."""
    runner = TrialRunner(request)
    try:
        yield runner
    finally:
        runner.end()
