"""Make PyTorch's thread pool usable in forked processes."""

from __future__ import annotations

import os
import sys


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
