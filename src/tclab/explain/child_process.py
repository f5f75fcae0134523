"""Ask a child process questions, each within a limit of seconds; both sides speak pickle."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

_SRC = Path(__file__).resolve().parents[2]


class ChildProcess:
    """A Python process that runs `module` and answers on its standard output."""

    def __init__(self, module: str, environment: Mapping[str, str] | None = None) -> None:
        path = os.pathsep.join(filter(None, (str(_SRC), os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, **(environment or {}), "PYTHONPATH": path}, start_new_session=True,
        )  # fmt: skip

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def ask(self, question: object, seconds: float) -> object:
        """Return the process's answer to a question, or its first message if the question is None.
        If none comes within `seconds`, kill the process and return None.
        """
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(seconds, self._kill)
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

    def end(self) -> None:
        """Kill the process and all processes that it started."""
        self._kill()
        with contextlib.suppress(OSError):  # the bytes that were written and not read
            self._process.communicate()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()


def open_answers() -> Callable[[object], None]:
    """In the child: return the function that sends an answer. What other code prints goes to
    stderr, so that it does not mix with the answers.
    """
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def send(answer: object) -> None:
        pickle.dump(answer, answers)
        answers.flush()

    return send
