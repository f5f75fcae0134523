"""Run a command on two cores, and measure its time and memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CORES = 2


class CommandFailed(RuntimeError):
    """A measured command failed: its number would mean nothing."""


@dataclass(frozen=True)
class Measured:
    """Wall-clock seconds, peak resident MiB of the largest process, and the output."""

    seconds: float
    peak: float
    output: str


def measure(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = 3600,
    ok: tuple[int, ...] = (0,),
) -> Measured:
    """Run `command` on `CORES` cores. CommandFailed with its last lines unless it ends in `ok`."""
    log = cwd / "measured.log"
    with log.open("w+b") as out:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=two_cores,  # noqa: PLW1509 - this process has one thread
        )
        status, usage = wait(process, timeout)
        seconds = time.perf_counter() - begin
    output = log.read_text(encoding="utf-8", errors="replace")
    if status not in ok:
        words = " ".join(str(word) for word in command)
        raise CommandFailed(f"{words}\nended with {status}:\n{output[-3000:]}")
    scale = 1024 if sys.platform == "linux" else 1024 * 1024
    return Measured(seconds, usage / scale, output)


def wait(process: subprocess.Popen[bytes], timeout: float) -> tuple[int, float]:
    """Return the exit status and ru_maxrss; kill the whole process group after `timeout`
    seconds.
    """
    previous = signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
    signal.alarm(int(timeout))
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss


def two_cores() -> None:
    """Keep this process and its children on the first `CORES` available cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
