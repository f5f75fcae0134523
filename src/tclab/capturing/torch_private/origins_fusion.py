"""Note which pairs of nodes Inductor's scheduler considers, which buffers the nodes of a pair
share, and which pairs the scheduler fuses.

The scheduler's log names the fused pairs, and in most cases the reason for a refusal. The log does
not have all pairs that were considered, nor the buffers that a pair shares, so we note both in
`can_fuse`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from tclab.capturing.torch_private.origins_kernels import SchedulerNode, bytes_moved
from tclab.capturing.trace import names
from tclab.capturing.trace.notes import Collector, FusedNote, FusionQueryNote

#: Functions of the code generator that declined the current pair; None outside of `can_fuse`.
_declined: ContextVar[list[str] | None] = ContextVar("declined", default=None)


def wrap_can_fuse(original: Callable[..., bool], notes: Collector) -> Callable[..., bool]:
    """Wrap Scheduler.can_fuse: note each pair and the answer. A nested call belongs to the pair of
    the outer call and gets no note of its own.
    """

    def can_fuse(
        self: Any, node1: SchedulerNode, node2: SchedulerNode, *args: object, **kwargs: object
    ) -> bool:
        if _declined.get() is not None:
            return original(self, node1, node2, *args, **kwargs)
        declined: list[str] = []
        token = _declined.set(declined)
        try:
            may_fuse = original(self, node1, node2, *args, **kwargs)
        finally:
            _declined.reset(token)
        declined_by = declined[-1] if declined and not may_fuse else ""
        shared = _shared_buffers(self, node1, node2)
        notes.add(
            names.FUSION_QUERY,
            FusionQueryNote(
                _op_names(node1), _op_names(node2), bool(may_fuse), shared, declined_by
            ),
        )
        return may_fuse

    return can_fuse


def wrap_backend_can_fuse(original: Callable[..., bool], notes: Collector) -> Callable[..., bool]:
    """Wrap a fusion check of the C++ code generator. If the check declines, note its name, since it
    logs no reason.
    """

    def backend_can_fuse(self: object, *args: object) -> bool:
        may_fuse = original(self, *args)
        declined = _declined.get()
        if not may_fuse and declined is not None:
            declined.append(original.__qualname__)
        return may_fuse

    return backend_can_fuse


def wrap_fuse_two_nodes(original: Callable[..., Any], notes: Collector) -> Callable[..., Any]:
    """Wrap Scheduler.fuse_two_nodes: note the bytes moved before and after. The wrapper computes
    the bytes before the call, since fusing changes both nodes.
    """

    def fuse_two_nodes(
        self: object, node1: SchedulerNode, node2: SchedulerNode, *args: object, **kwargs: object
    ) -> Any:
        first, second = _op_names(node1), _op_names(node2)
        separate_bytes = bytes_moved(node1), bytes_moved(node2)
        fused = original(self, node1, node2, *args, **kwargs)
        before = None if None in separate_bytes else sum(number or 0 for number in separate_bytes)
        notes.add(names.FUSED, FusedNote(first, second, before, bytes_moved(fused)))
        return fused

    return fuse_two_nodes


def _op_names(node: SchedulerNode) -> tuple[str, ...]:
    return tuple(member.get_name() for member in node.get_nodes())


def _shared_buffers(
    scheduler: Any, node1: SchedulerNode, node2: SchedulerNode
) -> tuple[tuple[str, int], ...]:
    """Return (buffer, bytes) for each buffer that both nodes access at the same index over the same
    ranges.
    """
    second_accesses = set(node2.read_writes.reads_and_writes())
    shared: dict[str, int] = {}
    for dep in dict.fromkeys(node1.read_writes.reads_and_writes()):
        if dep in second_accesses:
            shared[dep.name] = shared.get(dep.name, 0) + _dependency_bytes(scheduler, dep)
    return tuple(shared.items())


def _dependency_bytes(scheduler: Any, dep: Any) -> int:
    try:
        return int(scheduler.dep_size_hint(dep))
    except Exception:  # a data-dependent size has no hint; each version raises another error
        return 0
