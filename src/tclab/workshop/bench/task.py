"""Define the task of a worker, and the messages that the worker sends. This module imports no
torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from tclab.workshop.bench.case import Case
from tclab.workshop.bench.rows import Facts

#: The variable with the packages that `measured.preload` imports, separated by commas.
IMPORTS = "TCLAB_BENCH_IMPORTS"


@dataclass(frozen=True)
class Task:
    """One case in one mode, for one worker.

    `cache` is an empty folder for the compiler's caches. `lock` is the path of a lock, which a
    process holds while it needs the device for itself. `threads` is the number of PyTorch's CPU
    threads.
    """

    case: Case
    mode: str
    device: str
    cache: str
    lock: str
    threads: int


class Answer(TypedDict, total=False):
    """A message from a worker.

    After the preparation it has `status`, `reason` and `facts`. The status is ``ok``, ``memory``
    (the task is tried again), or one of `rows.PROBLEMS`. After timing it has `us`, the time of one
    call in µs.
    """

    status: str
    reason: str
    facts: Facts
    us: float
