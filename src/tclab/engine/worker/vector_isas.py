"""Try the CPU's vector instructions beside the imports of the warm process.

Before its first C++ kernel Inductor compiles and loads a file for each set of instructions that
the CPU has, one after the other: on a small machine more than half of what warming takes. A fork
for each does so ahead of it, while this process imports. What they built lies in Inductor's
cache, under Inductor's own locks, and is found there when Inductor tries; what a fork could not
do is left to Inductor.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tclab.engine.worker.limits import hear_of_parents_death


@contextmanager
def tried_ahead() -> Iterator[None]:
    """Within the block, import and compile; at its end nothing of this runs any more."""
    from tclab.capturing.torch_private import vector_isa

    forks = [_fork(isa) for isa in vector_isa.candidates()]
    try:
        yield
    finally:
        for pid in forks:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _fork(isa: Any) -> int:
    me = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        hear_of_parents_death(me)
        bool(isa)
    finally:
        os._exit(0)
