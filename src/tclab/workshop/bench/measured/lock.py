"""Lock a file for one process at a time; the system releases it if the process dies."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

_locked_paths: set[str] = set()


@contextmanager
def hold_lock(path: str) -> Iterator[None]:
    """Hold the lock of this path; do nothing if the path is '' or if this process already holds the
    lock.
    """
    if not path or path in _locked_paths:
        yield
        return
    with open(path, "a", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _locked_paths.add(path)
        try:
            yield
        finally:
            _locked_paths.discard(path)
