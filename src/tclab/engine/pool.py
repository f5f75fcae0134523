"""The runner's end of the supervisor: start it, send it jobs, hear how they end."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from tclab import machine, paths
from tclab.engine import unfinished, variables
from tclab.engine.worker.protocol import JobRequest, Message


class Lost(Exception):
    """The supervisor died. `log` is what it had written."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log


_WARMING = 300.0  # seconds it gets; on a busy machine a minute and a half is usual


class Pool:
    """One supervisor, started on first use. A context manager: nothing outlives it.

    `warm`: fork snippets from a process that has already compiled once. Only Linux forks
    such a process safely; elsewhere every snippet starts cold.
    """

    def __init__(self, cache: Path, warm: bool = True) -> None:
        self._wanted = cache
        self.cache = cache  # where it is, once started
        self.mode = "warm" if warm and sys.platform.startswith("linux") else "cold"
        self._process: subprocess.Popen[bytes] | None = None
        self._base: Path | None = None
        self._input = b""
        self._numbers = 0
        self.key = ""  # digest of the capture code and provenance it was started under

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def running(self) -> bool:
        """The supervisor was started and lives."""
        return self._process is not None and self._process.poll() is None

    def start(self, key: str = "") -> None:
        """Start the supervisor; its message ``ready`` comes when it is."""
        machine.need_processes("running a snippet")
        self.close()
        self.key = key
        self._base = _folder()
        self.cache = paths.for_compiles(self._wanted, self._base / "cache")
        unfinished.remove(self.cache)  # of a build that was killed
        module = "tclab.engine.worker.supervisor"
        warming = str(_WARMING if self.mode == "warm" else 0)
        command = [paths.python(self.cache), "-m", module, str(self._base), warming]
        with open(self._base / "log", "wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=variables.variables(self.cache),
                cwd=self._base,
                start_new_session=True,
            )
        self._input = b""

    def new_folder(self) -> tuple[int, Path]:
        """A number and a folder for one job."""
        assert self._base is not None, "start the pool first"
        self._numbers += 1
        return self._numbers, self._base / str(self._numbers)

    def send(self, request: JobRequest) -> None:
        """Ask for a job. `Lost` where nobody is there."""
        assert self._process is not None, "start the pool first"
        assert self._process.stdin is not None
        try:
            self._process.stdin.write((json.dumps(request) + "\n").encode())
            self._process.stdin.flush()
        except OSError:
            raise Lost(self._log()) from None

    def messages(self, seconds: float, wake: int | None = None) -> list[Message]:
        """What happened within `seconds`, as soon as something did, or as there is something to
        read from the descriptor `wake`. `Lost` where it died.
        """
        assert self._process is not None, "start the pool first"
        assert self._process.stdout is not None
        out = self._process.stdout.fileno()
        waited = [out] if wake is None else [out, wake]
        if out not in select.select(waited, [], [], seconds)[0]:
            return []
        chunk = os.read(out, 65536)
        if not chunk:
            raise Lost(self._log())
        *lines, self._input = (self._input + chunk).split(b"\n")
        return [json.loads(line) for line in lines]

    def _log(self) -> str:
        try:
            return (self._base / "log").read_text(errors="replace") if self._base else ""
        except OSError:
            return ""

    def close(self) -> None:
        """End the supervisor, and with it every snippet that still runs."""
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                _close_quietly(stream)
            _end(self._process)
        self._process = None
        if self._base is not None:
            shutil.rmtree(self._base, ignore_errors=True)
        self._base = None


def _folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="tclab-", dir=paths.settle_temporary()))
    except OSError as error:
        raise paths.NoRoom(str(error.strerror)) from None


def _close_quietly(stream: IO[bytes] | None) -> None:
    if stream is not None:
        with contextlib.suppress(OSError):
            stream.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    """It leaves by itself once its stdin ends; a warm-up it is in the midst of is cut."""
    deadline = time.monotonic() + 5
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    if process.poll() is None:
        process.kill()
        process.wait()
