"""Test the CPU's vector instruction sets in parallel with the imports of the warm process.

Before its first C++ kernel Inductor compiles and loads a file for each instruction set of the CPU,
one after the other. On a small machine this takes more than half of the warm-up. Here one fork for
each instruction set does the same while this process imports. The files go into Inductor's cache,
under Inductor's own locks, so that Inductor finds them. If a fork fails, Inductor runs the test
itself.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tclab.system.processes import request_signal_at_parent_death


@contextmanager
def run_tests_in_forks() -> Iterator[None]:
    """Run the tests in forks during the block; wait for the forks at the end of the block."""
    from tclab.capturing.torch_private import vector_isa

    forks = [_test_in_fork(isa) for isa in vector_isa.cpu_isas()]
    try:
        yield
    finally:
        for pid in forks:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _test_in_fork(isa: Any) -> int:
    me = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        request_signal_at_parent_death(me)
        bool(isa)
    finally:
        os._exit(0)
