"""Note the scheduler: which pairs of nodes it considers, what they share, and which it fuses.

Its log says why a pair is refused, in most cases, and which pairs are fused. What both share, and
that a pair was considered at all, is known only where it asks.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from tclab.capturing.torch_private.origins_kernels import SchedulerNode, moved
from tclab.capturing.trace import names
from tclab.capturing.trace.notes import AskedNote, Collected, FusedNote

#: Who declined, of the pair that is asked about.
_declined: ContextVar[list[str] | None] = ContextVar("declined", default=None)


def can_fuse(original: Callable[..., bool], notes: Collected) -> Callable[..., bool]:
    """A question about a pair; a question that another one asks is a part of it."""

    def can_fuse(
        self: Any, node1: SchedulerNode, node2: SchedulerNode, *args: object, **kwargs: object
    ) -> bool:
        if _declined.get() is not None:
            return original(self, node1, node2, *args, **kwargs)
        declined: list[str] = []
        token = _declined.set(declined)
        try:
            may = original(self, node1, node2, *args, **kwargs)
        finally:
            _declined.reset(token)
        by = declined[-1] if declined and not may else ""
        shared = _shared(self, node1, node2)
        notes.add(names.ASKED, AskedNote(_ops(node1), _ops(node2), bool(may), shared, by))
        return may

    return can_fuse


def declines(original: Callable[..., bool], notes: Collected) -> Callable[..., bool]:
    """The code generator for a CPU refuses without a word; what refused has a name at least."""

    def declines(self: object, *args: object) -> bool:
        may = original(self, *args)
        declined = _declined.get()
        if not may and declined is not None:
            declined.append(original.__qualname__)
        return may

    return declines


def fuse_two_nodes(original: Callable[..., Any], notes: Collected) -> Callable[..., Any]:
    """What the two move alone is asked before, since fusing changes them."""

    def fuse_two_nodes(
        self: object, node1: SchedulerNode, node2: SchedulerNode, *args: object, **kwargs: object
    ) -> Any:
        first, second = _ops(node1), _ops(node2)
        alone = moved(node1), moved(node2)
        fused = original(self, node1, node2, *args, **kwargs)
        before = None if None in alone else sum(number or 0 for number in alone)
        notes.add(names.FUSED, FusedNote(first, second, before, moved(fused)))
        return fused

    return fuse_two_nodes


def _ops(node: SchedulerNode) -> tuple[str, ...]:
    return tuple(each.get_name() for each in node.get_nodes())


def _shared(
    scheduler: Any, node1: SchedulerNode, node2: SchedulerNode
) -> tuple[tuple[str, int], ...]:
    """What both access, at the same index over the same ranges: buffer, bytes."""
    there = set(node2.read_writes.reads_and_writes())
    shared: dict[str, int] = {}
    for dep in dict.fromkeys(node1.read_writes.reads_and_writes()):
        if dep in there:
            shared[dep.name] = shared.get(dep.name, 0) + _size(scheduler, dep)
    return tuple(shared.items())


def _size(scheduler: Any, dep: Any) -> int:
    try:
        return int(scheduler.dep_size_hint(dep))
    except Exception:  # a size that only the data decides has no hint, and versions differ in error
        return 0
