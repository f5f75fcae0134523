"""Define a step from one PyTorch version to another: the changes between their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from tclab.compare.causes import Cause, differing_forms, join_causes, pair_leftovers
from tclab.compare.forms import FUSED, UNNAMED
from tclab.compare.pairs import KernelPair
from tclab.model import Problem, Report
from tclab.site.versions.records import Compile, VersionRecord
from tclab.upgrade.captures import ExplainResult
from tclab.upgrade.stages import Side, Upgrade

SAME, KNOWN = "the same", "cause known"


@dataclass(frozen=True)
class Pair:
    """One function or model for one target, compiled under both versions."""

    before: Compile
    upgrade: Upgrade

    @property
    def other_operators(self) -> bool:
        """Whether the graphs below Dynamo have other operators. Dynamo's graphs are left out,
        because versions name their operators differently.
        """
        changes = self.upgrade.comparison.changes
        return any(e.part == "graphs" and e.detail != "dynamo" for e in changes)


@dataclass(frozen=True)
class Step:
    """The step from the record `before` to the record `after`."""

    before: VersionRecord
    after: VersionRecord

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The compiles that both records have, in the order of `before`."""
        news = {each.key: each for each in self.after.compiles}
        both = ((old, news[old.key]) for old in self.before.compiles if old.key in news)
        return tuple(Pair(old, self._make_upgrade(old, new)) for old, new in both)

    def _make_upgrade(self, old: Compile, new: Compile) -> Upgrade:
        sides = (Side(record.machine.torch, _explain_result(each))
                 for record, each in ((self.before, old), (self.after, new)))  # fmt: skip
        return Upgrade(old.name, *sides)

    def part(self, corpus: str, target: str) -> Part:
        """Return the pairs of one corpus for one target."""
        pairs = (each for each in self.pairs if each.before.key[::2] == (corpus, target))
        return Part(tuple(pairs))

    @cached_property
    def parts(self) -> dict[tuple[str, str], Part]:
        """The pairs by corpus and target, in the order of the record."""
        keys = dict.fromkeys((each.before.corpus, each.before.target) for each in self.pairs)
        return {key: self.part(*key) for key in keys}


@dataclass(frozen=True)
class Part:
    """The pairs of one corpus for one target."""

    pairs: tuple[Pair, ...]

    @cached_property
    def kernels(self) -> tuple[KernelPair, ...]:
        """The kernels of all pairs, matched between the two versions as for their causes."""
        return tuple(
            kernels
            for each in self.pairs
            for kernels in pair_leftovers(each.upgrade.comparison.pairs)
        )

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """The causes of differing kernels. Causes that can change results come first."""
        return join_causes(cause for each in self.pairs for cause in each.upgrade.causes)

    def count_functions(self, cause: Cause) -> int:
        """Return the number of functions with a kernel that differs for this cause."""
        forms = ({each.form for each in pair.upgrade.causes} for pair in self.pairs)
        return sum(cause.form in some for some in forms)

    @property
    def differing(self) -> int:
        """The number of kernels that differ, whether the cause is known or not."""
        return sum(each.upgrade.differing_kernels for each in self.pairs)

    @property
    def unnamed(self) -> int:
        """The number of kernels that differ for a cause that no rule names."""
        return sum(len(cause.pairs) for cause in self.causes if cause.form == UNNAMED)

    def count_kernels(self) -> dict[str, int]:
        """Count each kernel once: those that are `SAME`, that differ for causes that are `KNOWN`,
        that fuse other operators (`FUSED`), and that differ for another cause (`UNNAMED`).
        """
        return dict(Counter(_group_of(pair) for pair in self.kernels))

    @property
    def on_one_side(self) -> tuple[Pair, ...]:
        """The pairs that compile under only one of the two versions."""
        return tuple(each for each in self.pairs if each.upgrade.failed_sides == 1)

    @property
    def possibly_different(self) -> tuple[Pair, ...]:
        """The pairs whose results can, or may, change."""
        return tuple(
            e
            for e in self.pairs
            if not e.upgrade.failed_sides and e.upgrade.first_numeric_difference
        )

    @property
    def memory(self) -> tuple[tuple[str, int, int], ...]:
        """(name, bytes before, bytes after) of the pairs whose planned bytes differ, largest growth
        first.
        """
        rows = tuple(_compare_memory(self.pairs))
        return tuple(sorted(rows, key=lambda row: row[1] / row[2] if row[2] else 0.0))


def _group_of(pair: KernelPair) -> str:
    forms = differing_forms(pair)
    rest = next((form.title for form in (FUSED, UNNAMED) if form in forms), KNOWN)
    return rest if forms else SAME


def _compare_memory(pairs: Iterable[Pair]) -> Iterator[tuple[str, int, int]]:
    for each in pairs:
        old, new = (s.snapshot.planned_bytes for s in (each.upgrade.before, each.upgrade.after))
        if not each.upgrade.failed_sides and None not in (old, new) and old != new:
            yield each.before.name, old or 0, new or 0


def _explain_result(compiled: Compile) -> ExplainResult:
    if compiled.snapshot is None:
        return ExplainResult(failure=Problem(compiled.name, compiled.failure, ""))
    return ExplainResult(Report(compiled.name, "", snapshot=compiled.snapshot))
