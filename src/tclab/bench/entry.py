"""Where a worker's process begins. Imports torch only there."""

from __future__ import annotations

import importlib
import os
from multiprocessing.connection import Connection

from tclab.bench.task import Task


def enter(work: str, task: Task, pipe: Connection) -> None:
    """A worker's main: calls `work`, a ``module.function``. It says nothing on stdout or stderr,
    where the progress is.
    """
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    if not os.environ.get("TCLAB_BENCH_STDERR"):
        os.dup2(quiet, 2)
    module, _, function = work.rpartition(".")
    getattr(importlib.import_module(module), function)(task, pipe)


def touch() -> None:
    """Use the GPU once; an error, and an exit status, where this process cannot."""
    import torch

    torch.zeros(1, device="cuda")
