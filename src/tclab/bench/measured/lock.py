"""One process at a time: a lock on a file, which the system releases if its holder dies."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

_locked: set[str] = set()


@contextmanager
def exclusive(path: str) -> Iterator[None]:
    """Hold the lock of this path; '' holds nothing, and who holds it already goes on."""
    if not path or path in _locked:
        yield
        return
    with open(path, "a", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _locked.add(path)
        try:
            yield
        finally:
            _locked.discard(path)
