"""Drive the supervisor from the runner's side: start it, send it jobs, read its messages."""

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

from tclab.site.engine import unfinished, variables
from tclab.site.engine.worker.protocol import JobRequest, Message
from tclab.system import machine, paths, toolchain


class SupervisorDied(Exception):
    """The supervisor died. `log` is the text that it wrote."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log


_WARM_UP_SECONDS = 300.0  # seconds that the warm-up may take; on a busy machine it takes 90


class Pool:
    """One supervisor, which is started on first use. The pool is a context manager; after its end
    no process is left.

    With `warm`, snippets are forked from a process that has already compiled once. Only Linux forks
    such a process safely; on other systems every snippet starts cold. With `graph_caches`,
    PyTorch's graph caches stay on, as for a reader.
    """

    def __init__(self, cache: Path, warm: bool = True, graph_caches: bool = False) -> None:
        self._graph_caches = graph_caches
        self._preferred_cache = cache
        self.cache = cache  # the folder in use after the start
        self.mode = "warm" if warm and sys.platform.startswith("linux") else "cold"
        self._process: subprocess.Popen[bytes] | None = None
        self._base: Path | None = None
        self._input = b""
        self._numbers = 0
        self.key = ""  # digest of tclab's code and the provenance at the start

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_running(self) -> bool:
        """Whether the supervisor was started and is alive."""
        return self._process is not None and self._process.poll() is None

    def start(self, key: str = "") -> None:
        """Start the supervisor. It sends the message ``ready`` once it can start jobs."""
        machine.require_process_control("running a snippet")
        self.close()
        self.key = key
        self._base = _make_folder()
        self.cache = paths.choose_compile_folder(self._preferred_cache, self._base / "cache")
        unfinished.remove(self.cache)  # a killed build may have left unfinished libraries
        unfinished.remove_unless_compiled_by(toolchain.compiler(), self.cache)
        module = "tclab.site.engine.worker.supervisor"
        warming = str(_WARM_UP_SECONDS if self.mode == "warm" else 0)
        command = [paths.python_for_compiles(self.cache), "-m", module, str(self._base), warming]
        with open(self._base / "log", "wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._make_variables(),
                cwd=self._base,
                start_new_session=True,
            )
        self._input = b""

    def _make_variables(self) -> dict[str, str]:
        env = variables.all_variables(self.cache)
        off = variables.GRAPH_CACHES_OFF if self._graph_caches else {}
        return {name: value for name, value in env.items() if name not in off}

    def new_folder(self) -> tuple[int, Path]:
        """Return the number and the folder of a new job; the folder is not made yet."""
        assert self._base is not None, "start the pool first"
        self._numbers += 1
        return self._numbers, self._base / str(self._numbers)

    def send(self, request: JobRequest) -> None:
        """Send a request. Raises SupervisorDied if the supervisor cannot be reached."""
        assert self._process is not None, "start the pool first"
        assert self._process.stdin is not None
        try:
            self._process.stdin.write((json.dumps(request) + "\n").encode())
            self._process.stdin.flush()
        except OSError:
            raise SupervisorDied(self._read_log()) from None

    def messages(self, seconds: float, wake: int | None = None) -> list[Message]:
        """Wait up to `seconds` for messages, or until the descriptor `wake` can be read.

        Raises SupervisorDied if the supervisor has ended.
        """
        assert self._process is not None, "start the pool first"
        assert self._process.stdout is not None
        out = self._process.stdout.fileno()
        descriptors = [out] if wake is None else [out, wake]
        if out not in select.select(descriptors, [], [], seconds)[0]:
            return []
        chunk = os.read(out, 65536)
        if not chunk:
            raise SupervisorDied(self._read_log())
        *lines, self._input = (self._input + chunk).split(b"\n")
        return [json.loads(line) for line in lines]

    def _read_log(self) -> str:
        try:
            return (self._base / "log").read_text(errors="replace") if self._base else ""
        except OSError:
            return ""

    def close(self) -> None:
        """End the supervisor and every snippet that still runs."""
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                _close_quietly(stream)
        try:
            if self._process is not None:
                _end_process(self._process)
        finally:
            self._process = None
            if self._base is not None:
                shutil.rmtree(self._base, ignore_errors=True)
            self._base = None


def _make_folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="tclab-", dir=paths.set_temporary_folder()))
    except OSError as error:
        raise paths.NoTemporarySpace(str(error.strerror)) from None


def _close_quietly(stream: IO[bytes] | None) -> None:
    if stream is not None:
        with contextlib.suppress(OSError):
            stream.close()


def _end_process(process: subprocess.Popen[bytes]) -> None:
    """Wait for the supervisor, which ends when its stdin ends. Kill it if it is still warming up,
    or if an interrupt ends the wait.
    """
    deadline = time.monotonic() + 5
    try:
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
