"""One process at a time: a lock on a file, which the system opens again if its holder dies."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

_held: set[str] = set()


@contextmanager
def alone(path: str) -> Iterator[None]:
    """Hold the lock of this path; '' holds nothing, and who holds it already goes on."""
    if not path or path in _held:
        yield
        return
    with open(path, "a", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _held.add(path)
        try:
            yield
        finally:
            _held.discard(path)
