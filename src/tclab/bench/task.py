"""What a worker is given. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from tclab.bench.case import Case
from tclab.bench.rows import Facts

#: Names the packages that `measured.preload` imports, with commas.
IMPORTS = "TCLAB_BENCH_IMPORTS"


@dataclass(frozen=True)
class Task:
    """`cache` is an empty folder for the compiler's caches, `lock` the path of a lock that only
    one process holds while it works the device hard, `threads` PyTorch's own on a CPU.
    """

    case: Case
    mode: str
    device: str
    cache: str
    lock: str
    threads: int


class Answer(TypedDict, total=False):
    """What a worker sends. Once it is warm, or cannot be, `status` with `reason`: ``ok``,
    ``memory``, which is tried again, or one of `rows.PROBLEMS`. After a stretch `us`, of one call.
    """

    status: str
    reason: str
    facts: Facts
    us: float
