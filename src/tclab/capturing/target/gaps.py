"""Record gaps: the refused parts of a function, graph or kernel whose other parts are shown. Also
record the operators that run on the host, which are not gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tclab.targets import TargetError


@dataclass(frozen=True)
class HostOperator:
    """An operator that runs on the CPU although the target is a GPU; `place` is the user's line."""

    operator: str
    place: str


HostOperators = dict[HostOperator, None]
#: The gaps noted in each open `collecting_gaps` block; the innermost block is the last.
_open_blocks: list[list[TargetError]] = []
_host_operators: list[HostOperators] = []
_deferred_operators: list[HostOperator] = []


def note_gap(gap: TargetError) -> None:
    """Record a gap in the innermost `collecting_gaps` block, unless one with the same text is
    there.
    """
    if _open_blocks and str(gap) not in map(str, _open_blocks[-1]):
        _open_blocks[-1].append(gap)


def defer_host_operator(operator: HostOperator) -> None:
    """Keep an operator that may run on the CPU until `resolve_deferred` has the graph's output
    code.
    """
    _deferred_operators.append(operator)


def resolve_deferred(*, has_host_code: bool) -> None:
    """Record the deferred operators if the output code has a C++ kernel for the host. Otherwise
    drop them, because Inductor fused them into the GPU's kernels.
    """
    if has_host_code and _host_operators:
        _host_operators[-1].update(dict.fromkeys(_deferred_operators))
    _deferred_operators.clear()


@contextmanager
def collecting_host_operators() -> Iterator[HostOperators]:
    """Yield a dictionary whose keys are the operators that run on the host, in order."""
    _host_operators.append({})
    _deferred_operators.clear()
    try:
        yield _host_operators[-1]
    finally:
        _host_operators.pop()


@contextmanager
def collecting_gaps() -> Iterator[list[TargetError]]:
    """Yield the list of gaps that are noted within the block, in order."""
    _open_blocks.append([])
    try:
        yield _open_blocks[-1]
    finally:
        _open_blocks.pop()
