"""Try the CPU's vector instructions beside the imports of the warm process.

Before its first C++ kernel Inductor compiles and loads a file for each set of instructions that
the CPU has, one after the other: on a small machine more than half of what warming takes. A fork
for each does so ahead of it, while this process imports. What they built lies in Inductor's
cache, under Inductor's own locks, and is found there when Inductor tries; what a fork could not
do is left to Inductor.

A timed snippet has a cache of its own. What the CPU can do is no part of what it measures, so it is
lent these files alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
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
    from tclab.capturing.torch_private import vector_isa

    me = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        hear_of_parents_death(me)
        _keep(vector_isa.try_out(isa))
    finally:
        os._exit(0)


def _keep(files: Iterable[Path]) -> None:
    """Link files of Inductor's cache, each in its folder of two letters, for `lend` to find."""
    for file in files:
        link = _kept(file.parents[1]) / file.parent.name / file.name
        link.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.link(file, link)


def lend(shared: str, own: str) -> None:
    """Give a cache folder of Inductor's what was tried for the shared one, if anything was."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copytree(_kept(Path(shared)), own, dirs_exist_ok=True)


def _kept(shared: Path) -> Path:
    return shared.with_name("vector_isas")
