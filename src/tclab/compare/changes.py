"""List the differences of two snapshots: break by break, kernel by kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isclose

from tclab.compare.pairs import DIFFERS, KernelPair, pair_kernels
from tclab.model import (
    RESULTS_DIFFER,
    BreakIdentity,
    Cost,
    FindingIdentity,
    KernelIdentity,
    RecompileIdentity,
    Snapshot,
)

#: The parts of a compile that are compared, in the order in which they are made.
PARTS = (
    *("graph breaks", "recompiles", "graphs", "kernels", "library calls"),
    *("guards", "CUDA graphs", "memory", "findings"),
)
#: The names of a kernel's numbers that can differ although the bodies are equal.
_NUMBERS = ("loads", "stores", "calls", "bytes", "registers", "spilled", "shared")


#: Costs of a finding that differ by less than this share count as equal.
_NOISE = 0.01


@dataclass(frozen=True)
class Code:
    """A kernel's normalised source."""

    text: str

    def __str__(self) -> str:
        return self.text


#: What can be new or gone: a break, a recompile, a finding, or a reason why no CUDA graph is
#: recorded.
Item = BreakIdentity | RecompileIdentity | FindingIdentity | str
#: One side of a change. A text is a launch setting; None means that this side has nothing.
Value = Item | Code | int | None


@dataclass(frozen=True)
class Change:
    """One difference of two compiles, in one of PARTS. `subject` is what differs: a break, a
    recompile, a kernel, a reason why no CUDA graph is recorded, or the name of a number.

    `worse` is True if the later compile is worse, False if it is better, None if it is unknown.
    `detail` names the number or the launch setting that differs, or the stage of a graph. `detail`
    is '' if the subject itself is new or gone, or has other code.
    """

    part: str
    subject: Item | KernelIdentity
    before: Value
    after: Value
    worse: bool | None = None
    detail: str = ""

    @property
    def title(self) -> str:
        """The subject in words, with the detail of a kernel."""
        if isinstance(self.subject, KernelIdentity):
            return f"{self.subject.title}: {self.detail}" if self.detail else self.subject.title
        return str(self.subject)

    @property
    def is_code(self) -> bool:
        """Whether a kernel's code differs, or a kernel is new or gone."""
        return isinstance(self.before, Code) or isinstance(self.after, Code)

    def to_data(self) -> dict[str, str | bool | None]:
        """Return the change as JSON data: each value as text, '' for None."""
        before, after = ("" if each is None else str(each) for each in (self.before, self.after))
        return {"part": self.part, "title": self.title, "before": before, "after": after,
                "worse": self.worse, "detail": self.detail}  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """The differences of two compiles, and their kernels in `pairs`. `lacks_findings` is True if
    one compile was made without the rules for findings; then findings are not compared.
    """

    changes: tuple[Change, ...] = ()
    pairs: tuple[KernelPair, ...] = ()
    lacks_findings: bool = False

    @property
    def levels(self) -> dict[str, int]:
        """Map each agreement to its number of pairs; kernels without a partner do not count."""
        return dict(Counter(pair.level for pair in self.pairs if pair.old and pair.new))

    @property
    def rewritings(self) -> dict[str, int]:
        """Map each known rewriting to the number of pairs that differ in it."""
        return dict(Counter(name for pair in self.pairs for name in pair.rewritings))

    @property
    def same(self) -> bool:
        """Whether there is no difference."""
        return not self.changes

    @property
    def first_part(self) -> str:
        """The first part that differs, in the order of PARTS; '' if none does."""
        return min((each.part for each in self.changes), key=PARTS.index, default="")


def compare_snapshots(before: Snapshot, after: Snapshot) -> Comparison:
    """Return the differences of two compiles, in the order of PARTS."""
    pairs = tuple(pair_kernels(before.kernels, after.kernels))
    changes = [
        *_item_changes("graph breaks", before.breaks, after.breaks),
        *_item_changes("recompiles", before.recompiles, after.recompiles),
        *_graph_changes(before, after),
        *(change for pair in pairs for change in _kernel_changes(pair)),
        *_count_changes("library calls", before.library_calls, after.library_calls),
        *_number_change("guards", "guards", before.guards, after.guards),
        *_number_change("guards", "guards in Python", before.python_guards, after.python_guards),
        *_item_changes("CUDA graphs", before.skipped_graphs, after.skipped_graphs),
        *_number_change("memory", "planned bytes", before.planned_bytes, after.planned_bytes),
        *_finding_changes(before, after),
    ]
    return Comparison(tuple(changes), pairs, None in (before.findings, after.findings))


def _kernel_changes(pair: KernelPair) -> Iterator[Change]:
    old, new = pair.old, pair.new
    if old is None or new is None:
        before, after = (Code(each.body) if each else None for each in (old, new))
        yield Change("kernels", pair.kernels[0], before, after)
        return
    if pair.level == DIFFERS:
        yield Change("kernels", new, Code(old.body), Code(new.body))
    for name in sorted(old.launch.keys() | new.launch.keys()):
        yield from _setting_changes(new, name, old.launch.get(name, ""), new.launch.get(name, ""))
    yield from _setting_changes(new, "configuration", old.configuration, new.configuration)
    for name in _NUMBERS:
        left, right = getattr(old, name), getattr(new, name)
        if left != right and None not in {left, right}:
            yield Change("kernels", new, left, right, right > left, name)


def _setting_changes(kernel: KernelIdentity, name: str, old: str, new: str) -> Iterator[Change]:
    if old != new:
        yield Change("kernels", kernel, _parse_setting(old), _parse_setting(new), detail=name)


def _parse_setting(text: str) -> int | str | None:
    """Return a launch setting as an int if it is a whole number, None if it is empty."""
    return int(text) if text.isdecimal() else text or None


def _item_changes(part: str, before: Iterable[Item], after: Iterable[Item]) -> Iterator[Change]:
    """Yield a change for each item that one side has more often than the other."""
    olds, news = Counter(before), Counter(after)
    for each in (olds - news).elements():
        yield Change(part, each, each, None, worse=False)
    for each in (news - olds).elements():
        yield Change(part, each, None, each, worse=True)


def _graph_changes(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    """Yield changes in the number of graphs of each stage, and in each graph's operator counts. A
    stage that has no graphs any more is worse. Whether fewer graphs are better depends on the
    breaks.
    """
    for stage in dict.fromkeys(g.stage for g in (*before.graphs, *after.graphs)):
        olds, news = ([g for g in side.graphs if g.stage == stage] for side in (before, after))
        if len(olds) != len(news):
            worse = len(news) > len(olds) or (None if news else True)
            yield Change("graphs", f"{stage} graphs", len(olds), len(news), worse, stage)
        if len(olds) == len(news):
            for place, (old, new) in enumerate(zip(olds, news)):
                where = f"{stage} {place}: "
                yield from _count_changes("graphs", old.operators, new.operators, where, stage)


def _finding_changes(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    """Yield a change for each finding that is new, is gone, or costs more or less. Yield nothing if
    a side was made without the rules for findings. Yield nothing about results if a side's results
    were not compared with eager's.
    """
    if before.findings is None or after.findings is None:
        return
    olds, news = map(_costs_of_findings, (before.findings, after.findings))
    both = before.agreement and after.agreement
    for each in sorted(olds.keys() | news.keys(), key=lambda item: (item.name, item.subject)):
        if each.name == RESULTS_DIFFER and not both:
            continue
        old, new = olds.get(each), news.get(each)
        if old is None or new is None:
            old_item, new_item = (None if cost is None else each for cost in (old, new))
            yield Change("findings", each, old_item, new_item, worse=old is None)
        elif old.unit == new.unit and not isclose(old.amount, new.amount, rel_tol=_NOISE):
            yield Change("findings", each, str(old), str(new), new.amount > old.amount, "cost")


def _costs_of_findings(findings: Iterable[FindingIdentity]) -> dict[FindingIdentity, Cost]:
    """Map each identity without its cost to the total cost of the findings with this identity."""
    costs: dict[FindingIdentity, Cost] = {}
    for each in findings:
        key = FindingIdentity(each.name, each.subject)
        amount = each.amount + (costs[key].amount if key in costs else 0)
        costs[key] = Cost(amount, each.unit, "computed" if each.unit else "")
    return costs


def _count_changes(
    part: str, before: Mapping[str, int], after: Mapping[str, int], prefix: str = "",
    detail: str = "",
) -> Iterator[Change]:  # fmt: skip
    for name in sorted(before.keys() | after.keys()):
        both = before.get(name, 0), after.get(name, 0)
        yield from _number_change(part, prefix + name, *both, is_judged=False, detail=detail)


def _number_change(
    part: str, name: str, before: int | None, after: int | None, *, is_judged: bool = True,
    detail: str = "",
) -> Iterator[Change]:  # fmt: skip
    if before is not None and after is not None and before != after:
        worse = after > before if is_judged else None
        yield Change(part, name, before, after, worse, detail or name)
