"""Which differences of two compiles make one of them worse, at each level of cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tclab.model import Snapshot
from tclab.snapshot import Change, Comparison, compare

_DYNAMO = ("graph breaks", "recompiles", "guards")
_GRAPHS = (*_DYNAMO, "graphs")
_KERNELS = (*_GRAPHS, "kernels", "library calls", "CUDA graphs", "memory")
#: What is compared at each level, cheapest first: the parts of a comparison.
LEVELS = {"dynamo": _DYNAMO, "graphs": _GRAPHS, "kernels": _KERNELS, "machine": _KERNELS}
#: What another division into graphs changes.
_FOLLOW = ("graphs", "kernels", "library calls", "memory")
#: Of a kernel, what only the machine level compares.
_OF_MACHINE = ("configuration", "registers", "spilled", "shared")


@dataclass(frozen=True)
class Verdict:
    """What is `worse` and what is `better` than it was, each in the order of a compile.

    Worse is a new identity (a break, a recompile, a kernel that was not there, a kernel with other
    code) or a larger number; better is one that is gone, or a smaller number. Where breaks or
    recompiles are gone, and none is new, other graphs and kernels follow from that, and one graph
    plans more memory than each of two: they are not worse, unless more kernels are launched. A
    kernel that stayed and needs more of the machine is.
    """

    comparison: Comparison
    worse: tuple[Change, ...]
    better: tuple[Change, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs at this level."""
        return not (self.worse or self.better)


def judge(before: Snapshot, after: Snapshot, level: str) -> Verdict:
    """What is worse of `after`, and what better, of the parts that `level` compares."""
    comparison = compare(before, after)
    changes = [each for each in comparison.changes if _is_compared(each, level)]
    follows = _FOLLOW if _is_mended(changes) and _launches(after) <= _launches(before) else ()
    worse = tuple(e for e in changes if _is_worse(e) and not _is_among(follows, e))
    return Verdict(comparison, worse, tuple(each for each in changes if each not in worse))


def _is_compared(change: Change, level: str) -> bool:
    return change.part in LEVELS[level] and (level == "machine" or change.detail not in _OF_MACHINE)


def _is_among(parts: Sequence[str], change: Change) -> bool:
    """Whether it is a change of these parts, but for what one kernel needs of the machine."""
    return change.part in parts and change.detail not in _OF_MACHINE


def _is_mended(changes: list[Change]) -> bool:
    """Whether breaks or recompiles are gone, and none is new."""
    above = [each.worse for each in changes if each.part in ("graph breaks", "recompiles")]
    return bool(above) and not any(above)


def _launches(snapshot: Snapshot) -> int:
    return len(snapshot.kernels) + sum(snapshot.library_calls.values())


def _is_worse(change: Change) -> bool:
    if change.worse is not None:
        return change.worse
    if not change.after:
        return False
    if change.before.isdecimal() and change.after.isdecimal():
        return int(change.after) > int(change.before)
    return True
