"""What a worker is given, and where it begins. Imports torch only in the worker."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from multiprocessing.connection import Connection

from tclab.bench.case import Case

#: Names the packages that `measured.ahead` imports, with commas.
IMPORTS = "TCLAB_BENCH_IMPORTS"


@dataclass(frozen=True)
class Task:
    """`cache` is an empty folder for the compiler's caches, `gate` the path of a lock that only
    one process holds while it works the device hard, `threads` PyTorch's own on a CPU.
    """

    case: Case
    mode: str
    device: str
    cache: str
    gate: str
    threads: int


def enter(task: Task, pipe: Connection) -> None:
    """A worker's main. It says nothing on stdout or stderr, where the progress is."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    if not os.environ.get("TCLAB_BENCH_STDERR"):
        os.dup2(quiet, 2)
    importlib.import_module("tclab.bench.measured.worker").work(task, pipe)


def touch() -> None:
    """Use the GPU once; an error, and an exit status, where this process cannot."""
    importlib.import_module("torch").zeros(1, device="cuda")
