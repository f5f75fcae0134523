"""Make a snippet whose processes end before they can be killed, for tests that end it."""

from __future__ import annotations

import time
from pathlib import Path

#: Each process starts the next in a session of its own and ends; its own parent has ended by then.
#: It kills itself, since coverage writes a file when a process ends, which takes long. As a last
#: resort, should a test fail, all end after half a minute.
CODE = """
import os, sys, time
def end(): os.kill(os.getpid(), 9)
log, last = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND), time.monotonic() + 30
if os.fork() == 0:
    while time.monotonic() < last:
        os.write(log, b"%d\\n" % os.getpid())
        if os.fork():
            end()
        os.setsid()
    end()
"""


def code(log: Path, then: str) -> str:
    """Return the code of a snippet that starts them, and then runs `then` itself."""
    return CODE.format(log=str(log)) + f"\n{then}\n"


def pids(log: Path) -> list[int]:
    """Return the process ids of the generations, oldest first."""
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def alive(numbers: list[int]) -> list[int]:
    return [pid for pid in numbers if state(pid) not in ("", "Z")]


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def assert_over(log: Path) -> None:
    """Assert that there were generations, that none lives, and that none is started any more."""
    generations = pids(log)
    assert len(generations) > 1  # a busy machine starts only a few a second
    assert alive(generations[-5:]) == []  # older numbers may belong to other processes by now
    time.sleep(0.2)
    assert pids(log) == generations
