"""A snippet whose processes are gone before they can be killed, for tests that end it."""

from __future__ import annotations

import time
from pathlib import Path

#: Each process starts the next in a session of its own and ends; its parent has ended by then.
#: It kills itself: one that ends and that coverage watches first writes a file, for long.
#: The last resort, should a test fail, is that they all end after half a minute.
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
    """A snippet that starts them, and then does something else itself."""
    return CODE.format(log=str(log)) + f"\n{then}\n"


def pids(log: Path) -> list[int]:
    """Of each generation, oldest first."""
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def alive(numbers: list[int]) -> list[int]:
    return [pid for pid in numbers if state(pid) not in ("", "Z")]


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def assert_over(log: Path) -> None:
    """There were generations, none lives, and there is no later one."""
    generations = pids(log)
    assert len(generations) > 1  # a busy machine gives a second few
    assert alive(generations[-5:]) == []  # older numbers may be another process's by now
    time.sleep(0.2)
    assert pids(log) == generations
