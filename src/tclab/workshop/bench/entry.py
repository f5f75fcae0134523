"""Start a worker's process. Only that process imports torch."""

from __future__ import annotations

import importlib
import os
from multiprocessing.connection import Connection

from tclab.workshop.bench.task import Task


def run_in_process(work: str, task: Task, pipe: Connection) -> None:
    """Call `work`, a ``module.function``, as a worker's main function.

    The function cannot print to stdout and stderr, because the command prints its progress there.
    """
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    if not os.environ.get("TCLAB_BENCH_STDERR"):
        os.dup2(quiet, 2)
    module, _, function = work.rpartition(".")
    getattr(importlib.import_module(module), function)(task, pipe)


def check_gpu() -> None:
    """Use the GPU once; if that fails, the error ends this process with an exit status."""
    import torch

    torch.zeros(1, device="cuda")
