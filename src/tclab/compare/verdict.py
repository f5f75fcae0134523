"""Judge which differences make a compile worse or better, at each level of cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tclab.compare.changes import Change, Comparison, compare_snapshots
from tclab.model import Snapshot

_DYNAMO_PARTS = ("graph breaks", "recompiles", "guards", "findings")
_GRAPH_PARTS = (*_DYNAMO_PARTS, "graphs")
_KERNEL_PARTS = (*_GRAPH_PARTS, "kernels", "library calls", "CUDA graphs", "memory")
#: Level, cheapest first → the parts that are compared.
LEVELS = {
    "dynamo": _DYNAMO_PARTS,
    "graphs": _GRAPH_PARTS,
    "kernels": _KERNEL_PARTS,
    "machine": _KERNEL_PARTS,
}
#: Parts that also change if a function is split into other graphs.
_FOLLOWING_PARTS = ("graphs", "kernels", "library calls", "memory")
#: Details of a kernel that only the level "machine" compares.
_MACHINE_DETAILS = ("configuration", "registers", "spilled", "shared")


@dataclass(frozen=True)
class Verdict:
    """The changes that are `worse` and those that are `better`, each in the order of PARTS.

    A new break, recompile or kernel, other code, and a larger number are worse. A break, recompile
    or kernel that is gone and a smaller number are better. If breaks or recompiles are gone and
    none is new, this also explains changed graphs and kernels, and the larger planned memory of a
    larger graph. These changes are not worse unless more kernels are launched. A kernel that needs
    more registers, spills or shared memory is still worse. Fewer graphs are better only if they
    follow from a break that is gone. If a stage has no graph any more, or there is no kernel any
    more, that is worse in any case. If a break is new, smaller graphs, fewer guards and fewer
    findings follow from this break, and are not better.
    """

    comparison: Comparison
    worse: tuple[Change, ...]
    better: tuple[Change, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs at this level."""
        return not (self.worse or self.better)


def judge(before: Snapshot, after: Snapshot, level: str) -> Verdict:
    """Judge the changes from `before` to `after` in the parts that `level` compares."""
    comparison = compare_snapshots(before, after)
    changes = [each for each in comparison.changes if _is_compared(each, level)]
    mended = _has_only_fewer_breaks(changes)
    launches = _count_launches(before), _count_launches(after)
    follows = _FOLLOWING_PARTS if mended and launches[1] <= launches[0] else ()
    lost = ("kernels", "library calls") if launches[0] and not launches[1] else ()

    def is_worse(change: Change) -> bool:
        if change.part in lost or _leaves_no_graph(change):
            return True
        unexplained = not mended and _is_number_of_graphs(change)
        return (unexplained or _is_worse(change)) and not _follows_from_breaks(follows, change)

    worse = tuple(filter(is_worse, changes))
    lost_to_breaks = (
        ("guards", "graphs", "findings") if any(_is_new_break(each) for each in worse) else ()
    )
    better = (c for c in changes if c not in worse and c.part not in lost_to_breaks)
    return Verdict(comparison, worse, tuple(better))


def _is_new_break(change: Change) -> bool:
    return change.part == "graph breaks" and change.before is None


def _is_compared(change: Change, level: str) -> bool:
    if change.detail == "dynamo" and _leaves_no_graph(change):
        return True
    return change.part in LEVELS[level] and (
        level == "machine" or change.detail not in _MACHINE_DETAILS
    )


def _is_number_of_graphs(change: Change) -> bool:
    return change.part == "graphs" and change.subject == f"{change.detail} graphs"


def _leaves_no_graph(change: Change) -> bool:
    return _is_number_of_graphs(change) and change.after == 0


def _follows_from_breaks(parts: Sequence[str], change: Change) -> bool:
    """Return whether a change is in one of these parts and is not one that only the level "machine"
    compares.
    """
    return change.part in parts and change.detail not in _MACHINE_DETAILS


def _has_only_fewer_breaks(changes: list[Change]) -> bool:
    """Return whether breaks or recompiles are gone, and none is new."""
    above = [each.worse for each in changes if each.part in ("graph breaks", "recompiles")]
    return bool(above) and not any(above)


def _count_launches(snapshot: Snapshot) -> int:
    return len(snapshot.kernels) + sum(snapshot.library_calls.values())


def _is_worse(change: Change) -> bool:
    if change.worse is not None:
        return change.worse
    if change.after is None:
        return False
    if isinstance(change.before, int) and isinstance(change.after, int):
        return change.after > change.before
    return True
