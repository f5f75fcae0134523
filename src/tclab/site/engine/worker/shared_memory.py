"""Find the files of a run in ``/dev/shm``: memory that no process owns and that outlives all
processes of the run.

A file in ``/dev/shm`` belongs to a run if it was made after the run began and a process of the run
has it open or mapped. So no file of another program or of another run is counted or removed.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tclab.system import processes

_FOLDER = "/dev/shm"
# 7f1c2a000000-7f1c2a001000 rw-s 00000000 00:1a 7   /dev/shm/sem.x1Yz (deleted)
# A semaphore is mapped under another name than it then gets, so the inode counts.
_MAPPED_INODE = re.compile(rf"^(?:\S+ ){{4}}(\d+)\s+{_FOLDER}/", re.MULTILINE)

#: A file's path and its inode. The path alone is not enough, because another file may have it
#: later.
_File = tuple[str, int]


class SharedMemory:
    """The files of one run that `find_files` has found in use by its processes."""

    def __init__(self) -> None:
        self._before = set(_files())
        self._own: set[_File] = set()

    def find_files(self, pids: Iterable[int]) -> None:
        """Add the new files that these processes have open or mapped."""
        if new := set(_files()) - self._before - self._own:
            used = {inode for pid in pids for inode in _used_inodes(pid)}
            self._own |= {file for file in new if file[1] in used}

    def size(self) -> int:
        """Return the bytes that the run's files occupy now."""
        return sum(processes.allocated_bytes(path) for path, _ in self._existing())

    def remove(self) -> None:
        """Remove the run's files. Call this only after all processes of the run have ended."""
        for path, _ in self._existing():
            with contextlib.suppress(OSError):
                os.unlink(path)

    def _existing(self) -> set[_File]:
        return self._own & set(_files()) if self._own else set()


def _files() -> Iterator[_File]:
    with contextlib.suppress(OSError), os.scandir(_FOLDER) as entries:
        yield from ((entry.path, entry.inode()) for entry in entries)


def _used_inodes(pid: int) -> Iterator[int]:
    """Yield the inodes of the shared-memory files that a process has mapped or open."""
    with contextlib.suppress(OSError):
        yield from map(
            int, _MAPPED_INODE.findall(Path(f"/proc/{pid}/maps").read_text(errors="replace"))
        )
    with contextlib.suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if os.readlink(descriptor).startswith(f"{_FOLDER}/"):
                    yield descriptor.stat().st_ino
