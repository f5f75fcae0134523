"""Make PyTorch's thread pool usable in forked processes, and say how long threads waited."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

_TASKS = Path("/proc/self/task")


def recreate_thread_pool_in_forks() -> None:
    """Recreate the thread pool in each process that this one forks from now on."""
    os.register_at_fork(after_in_child=recreate_thread_pool)


def recreate_thread_pool() -> None:
    """Make PyTorch, if it was imported, recreate its thread pool while only one thread runs.

    After a fork PyTorch recreates the pool on its first use. Two threads of the autograd engine
    that use it at once can both find it half made, which crashes the process.
    """
    torch = sys.modules.get("torch")
    # without this function, torch is still being imported
    if torch is not None and hasattr(torch, "get_num_threads"):
        torch.set_num_threads(torch.get_num_threads())


def read_waits() -> dict[str, float]:
    """Return for each thread of this process how many seconds it has waited for a core, so far;
    nothing where the system does not say it.
    """
    waits: dict[str, float] = {}
    for task in os.listdir(_TASKS) if _TASKS.exists() else ():
        with contextlib.suppress(OSError, IndexError):  # the thread has ended, or it is not counted
            waits[task] = int((_TASKS / task / "schedstat").read_text().split()[1]) * 1e-9
    return waits


def sum_waits(before: dict[str, float]) -> float:
    """Return how many seconds the threads have waited for a core since `read_waits`, summed: what
    they do together was held up by no more, whichever of them waits for which.
    """
    return sum(now - before.get(task, 0.0) for task, now in read_waits().items())
