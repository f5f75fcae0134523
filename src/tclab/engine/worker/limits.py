"""Measure a process and its descendants; kill them all. Linux reads /proc, others psutil."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

_PROC = Path("/proc/self/statm").exists()
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_DYING = 0.001  # seconds between two looks at processes that were killed


def below(pid: int) -> set[int]:
    """The living descendants of a process."""
    family: set[int] = set()
    todo = children(pid)
    while todo:
        if (one := todo.pop()) not in family:
            family.add(one)
            todo += children(one)
    return family


def children(pid: int) -> list[int]:
    """The living children of one process, and those that it has not waited for."""
    if not _PROC:
        return _psutil_children(pid)
    pids: list[int] = []
    for task in _tasks(pid):
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/task/{task}/children").read_text()
            pids += map(int, text.split())
    return pids


def _tasks(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def resident(pids: Iterable[int]) -> int:
    """Bytes of memory the processes hold together; shared pages count in each."""
    return sum(map(_resident, pids))


def _resident(pid: int) -> int:
    if not _PROC:
        return _psutil_resident(pid)
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def proportional(pids: Iterable[int]) -> int:
    """Bytes of memory the processes hold together; of a page that n processes share, each of
    them has 1/n. Counting takes tens of milliseconds a process.
    """
    return sum(map(_proportional, pids))


def _proportional(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # it has gone, it is another user's, or there is no /proc
        return _resident(pid)
    # Pss:               10240 kB
    match = re.search(r"^Pss:\s*(\d+) kB$", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else 0


def size_below(folder: Path) -> int:
    """Bytes that the files of a folder take on the disk, links aside."""
    return sum(
        map(_on_disk, (os.path.join(at, n) for at, _, names in os.walk(folder) for n in names))
    )


def _on_disk(path: str) -> int:
    try:
        return os.lstat(path).st_blocks * 512
    except OSError:
        return 0


def _psutil_children(pid: int) -> list[int]:
    try:
        import psutil

        return [child.pid for child in psutil.Process(pid).children()]
    except Exception:  # no psutil, or the process has gone
        return []


def _psutil_resident(pid: int) -> int:
    try:
        import psutil

        return int(psutil.Process(pid).memory_info().rss)
    except Exception:  # no psutil, or the process has gone
        return 0


# --------------------------------------------------------------------------- killing


def end_below(seconds: float = 10.0) -> None:
    """Kill every descendant of this process; returns when none is left.

    For a process that adopts orphans (`adopt_orphans`): with no child it has no descendant.
    What cannot be killed, since it is another user's, is given up after `seconds`.
    """
    deadline = time.monotonic() + seconds
    while _has_children() and time.monotonic() < deadline:
        kill_below()
        time.sleep(_DYING)


def _has_children() -> bool:
    """Whether any is left once those that have ended are waited for."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def kill_below(spared: Iterable[int] = ()) -> None:
    """Kill the descendants of this process that can be found, but for `spared` and theirs.

    A process that forks and ends, again and again, is gone before it can be killed, and its
    child is not known yet. So each one that is found is stopped: from then on it forks no more.
    When a look finds only stopped ones, they are killed: those of that look, for the number of
    one that was gone before may be another process's by now.
    """
    spared, stopped = set(spared), set[int]()
    while not (family := _below_this(spared)) <= stopped:
        send(family - stopped, signal.SIGSTOP)
        stopped |= family
    send(family, signal.SIGKILL)


def _below_this(spared: set[int]) -> set[int]:
    mine = set(children(os.getpid())) - spared
    return mine.union(*map(below, mine))


def send(pids: Iterable[int], number: int) -> None:
    """Send a signal to processes, some of which may have gone."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


# --------------------------------------------------------------------------- Linux's prctl


def hear_of_parents_death(parent: int, number: int | None = None) -> None:
    """Have the kernel send this process a signal, SIGKILL if no other is named, when its parent
    `parent` dies.
    """
    _prctl(_PR_SET_PDEATHSIG, number or signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        os._exit(0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies, so that they can be found."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def be_killed_first() -> None:
    """Where memory runs out for all, let the kernel take a snippet and nothing else."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800")
