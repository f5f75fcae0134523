"""Test the CPU's vector instruction sets in parallel with the imports of the warm process.

Before its first C++ kernel Inductor compiles and loads a file for each instruction set of the CPU,
one after the other. On a small machine this takes more than half of the warm-up. Here one fork for
each instruction set does the same while this process imports. The files go into Inductor's cache,
under Inductor's own locks, so that Inductor finds them. If a fork fails, Inductor runs the test
itself.

A timed snippet has a cache of its own. The tests are not part of its measurement, so it gets a copy
of these files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
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
    from tclab.capturing.torch_private import vector_isa

    me = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        request_signal_at_parent_death(me)
        _link_tests(vector_isa.try_isa(isa))
    finally:
        os._exit(0)


def _link_tests(files: Iterable[Path]) -> None:
    """Link files of Inductor's cache, with their two-letter folders, into the folder that
    `copy_tests` copies.
    """
    for file in files:
        link = _tests_folder(file.parents[1]) / file.parent.name / file.name
        link.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.link(file, link)


def copy_tests(shared_cache: str, target: str) -> None:
    """Copy the tests' files, if there are any, from the shared cache folder into the folder
    `target`.
    """
    with contextlib.suppress(FileNotFoundError):
        shutil.copytree(_tests_folder(Path(shared_cache)), target, dirs_exist_ok=True)


def _tests_folder(shared_cache: Path) -> Path:
    return shared_cache.with_name("vector_isas")
