"""Measure a process and its descendants; kill them all. Linux reads /proc, others psutil."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

_PROC = Path("/proc/self/statm").exists()
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def tree(pid: int) -> set[int]:
    """`pid` and its living descendants."""
    found, todo = set(), [pid]
    while todo:
        pid = todo.pop()
        if pid not in found:
            found.add(pid)
            todo += children(pid)
    return found


def children(pid: int) -> list[int]:
    """The living children of one process."""
    if not _PROC:
        return _psutil_children(pid)
    found: list[int] = []
    for task in _tasks(pid):
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/task/{task}/children").read_text()
            found += map(int, text.split())
    return found


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


def kill(group: int, others: Iterable[int] = ()) -> None:
    """Kill a process group and some more processes, at once."""
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)
    for pid in others:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


# --------------------------------------------------------------------------- Linux's prctl


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent `parent` dies."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
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
