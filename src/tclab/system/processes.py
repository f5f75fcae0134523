"""Measure and kill a process and its descendants, with /proc on Linux, otherwise with psutil."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

_HAS_PROC = Path("/proc/self/statm").exists()
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_KILL_PAUSE = 0.001  # seconds between two searches for processes that survived


def find_descendants(pid: int) -> set[int]:
    """Return the process IDs of all living descendants of a process."""
    family: set[int] = set()
    todo = find_children(pid)
    while todo:
        if (one := todo.pop()) not in family:
            family.add(one)
            todo += find_children(one)
    return family


def find_children(pid: int) -> list[int]:
    """Return the IDs of a process's children: the living ones, and the ended ones for which the
    process has not waited.
    """
    if not _HAS_PROC:
        return _psutil_children(pid)
    pids: list[int] = []
    for task in _list_threads(pid):
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/task/{task}/children").read_text()
            pids += map(int, text.split())
    return pids


def _list_threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def resident_bytes(pids: Iterable[int]) -> int:
    """Return the resident bytes of all the processes; a shared page counts once for each of
    them.
    """
    return sum(map(_resident_bytes_of_one, pids))


def _resident_bytes_of_one(pid: int) -> int:
    if not _HAS_PROC:
        return _psutil_resident(pid)
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):
        return 0


def proportional_bytes(pids: Iterable[int], in_files: int = 0) -> int:
    """Return the proportional bytes (PSS) of all the processes: of a page that n processes share,
    each has 1/n. `in_files` are the bytes of files in memory, which count once whether they are
    mapped or not. Counting takes tens of milliseconds for each process.
    """
    counted = list(map(_proportional_bytes_of_one, pids))
    mapped = sum(shared for _, shared in counted)
    return sum(held for held, _ in counted) + max(0, in_files - mapped)


def _proportional_bytes_of_one(pid: int) -> tuple[int, int]:
    """Return the proportional bytes of a process, and how many of them belong to files in
    memory.
    """
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # the process has ended or is another user's, or there is no /proc
        return _resident_bytes_of_one(pid), 0
    # Pss:               10240 kB
    found = dict(re.findall(r"^(Pss|Pss_Shmem):\s*(\d+) kB$", text, re.MULTILINE))
    return int(found.get("Pss", 0)) * 1024, int(found.get("Pss_Shmem", 0)) * 1024


def iter_file_sizes(folders: Iterable[str]) -> Iterator[int]:
    """Yield the bytes that each file of these folders occupies; links are not followed."""
    todo = [folder for folder in folders if not os.path.islink(folder)]
    while todo:
        with contextlib.suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
                yield allocated_bytes(entry.path)


def iter_removed_file_sizes(pids: Iterable[int], folder: str) -> Iterator[int]:
    """Yield the bytes of each removed file of a folder that a process still has open."""
    for pid in pids:
        with contextlib.suppress(OSError):
            for descriptor in os.listdir(f"/proc/{pid}/fd"):
                yield _removed_bytes(f"/proc/{pid}/fd/{descriptor}", folder)


def _removed_bytes(descriptor: str, folder: str) -> int:
    with contextlib.suppress(OSError):
        if os.readlink(descriptor).startswith(f"{folder}/"):
            status = os.stat(descriptor)
            return 0 if status.st_nlink else status.st_blocks * 512
    return 0


def allocated_bytes(path: str) -> int:
    """Return the bytes that a file (or a link, not its target) occupies; 0 if it does not exist."""
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


def end_all_descendants(seconds: float = 10.0) -> None:
    """Kill every descendant of this process; return when none is left, or after `seconds`.

    This requires `adopt_orphans`, because only then does a process without children have no
    descendants. The limit is needed because another user's processes cannot be killed.
    """
    deadline = time.monotonic() + seconds
    while _has_children() and time.monotonic() < deadline:
        kill_descendants()
        time.sleep(_KILL_PAUSE)


def _has_children() -> bool:
    """Wait for ended children; return whether other children are left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def kill_descendants(spared_pids: Iterable[int] = ()) -> None:
    """Kill the descendants of this process, except `spared_pids` and their descendants.

    A process that keeps forking and ending is gone before it can be killed, and its child is not
    known yet. So each process found is stopped first: a stopped process does not fork. When a
    search finds only stopped processes, the processes of this search are killed. A process that
    only an earlier search found gets no signal: it may have ended, and another process may have its
    number now.
    """
    spared_pids, stopped = set(spared_pids), set[int]()
    while not (family := _find_own_descendants(spared_pids)) <= stopped:
        send_signal(family - stopped, signal.SIGSTOP)
        stopped |= family
    send_signal(family, signal.SIGKILL)


def _find_own_descendants(spared_pids: set[int]) -> set[int]:
    mine = set(find_children(os.getpid())) - spared_pids
    return mine.union(*map(find_descendants, mine))


def send_signal(pids: Iterable[int], number: int) -> None:
    """Send a signal to processes. Processes that have ended are skipped."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


# --------------------------------------------------------------------------- Linux's prctl


def request_signal_at_parent_death(parent: int, number: int | None = None) -> None:
    """Ask the kernel to send this process the signal `number` when its parent, `parent`, dies."""
    _prctl(_PR_SET_PDEATHSIG, number or signal.SIGKILL)
    if os.getppid() != parent:  # the parent died before the request
        os._exit(0)


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose parent dies, so that it can find them."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def volunteer_for_oom_kill() -> None:
    """Ask the kernel to kill this process first if the machine runs out of memory."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800")
