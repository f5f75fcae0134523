"""Two records beside each other: what a PyTorch changed of what the one before it made."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from tclab.model import Gap, Report
from tclab.snapshot import KernelPair
from tclab.upgrade.captures import Capture
from tclab.upgrade.causes import Cause
from tclab.upgrade.rules import RANK, UNNAMED, Form
from tclab.upgrade.stages import Side, Upgrade
from tclab.versions import records
from tclab.versions.records import FAILED, HELD, Compile, VersionRecord

#: A name, what it was, and what it is.
Row = tuple[str, str, str]


@dataclass(frozen=True)
class Pair:
    """One function or model for one target, under both."""

    of: Compile
    upgrade: Upgrade

    @property
    def other_operators(self) -> bool:
        """The graphs below Dynamo, which calls operators by names of its own, are not the same."""
        changes = self.upgrade.comparison.changes
        return any(e.part == "graphs" and not e.title.startswith("dynamo ") for e in changes)


@dataclass(frozen=True)
class Step:
    """From one release to the next."""

    before: VersionRecord
    after: VersionRecord

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Everything that both records have, in the order of the former."""
        news = {each.key: each for each in self.after.compiles}
        both = ((old, news[old.key]) for old in self.before.compiles if old.key in news)
        return tuple(Pair(old, self._upgrade(old, new)) for old, new in both)

    def _upgrade(self, old: Compile, new: Compile) -> Upgrade:
        sides = (Side(record.machine.torch, _capture(each))
                 for record, each in ((self.before, old), (self.after, new)))  # fmt: skip
        return Upgrade(old.name, *sides)

    def of(self, corpus: str, target: str) -> Part:
        """The pairs of one corpus for one target."""
        pairs = (each for each in self.pairs if each.of.key[::2] == (corpus, target))
        return Part(tuple(pairs))

    @cached_property
    def parts(self) -> dict[tuple[str, str], Part]:
        """Corpus and target → its pairs, as they are recorded."""
        keys = dict.fromkeys((each.of.corpus, each.of.target) for each in self.pairs)
        return {key: self.of(*key) for key in keys}

    @cached_property
    def claims(self) -> tuple[Row, ...]:
        """``snippet#claim`` of which something else came, what held before first. Where a snippet
        failed under one, nothing is known of its claims.
        """
        olds, news = (_claims(record) for record in (self.before, self.after))
        both = ((name, olds[name], news[name]) for name in olds if name in news)
        rows = (row for row in both if row[1] != row[2] and FAILED not in row)
        return tuple(sorted(rows, key=lambda row: (row[1] != HELD, row)))

    @property
    def became_false(self) -> tuple[Row, ...]:
        """Claims that held and do not any more."""
        return tuple(row for row in self.claims if row[1] == HELD)

    @property
    def became_true(self) -> tuple[Row, ...]:
        """Claims that hold and did not."""
        return tuple(row for row in self.claims if row[2] == HELD)

    @cached_property
    def verdicts(self) -> tuple[Row, ...]:
        """Beliefs with another verdict."""
        olds, news = self.before.verdicts, self.after.verdicts
        both = (name for name in olds if name in news and olds[name] != news[name])
        return tuple((name, olds[name], news[name]) for name in both)


@dataclass(frozen=True)
class Part:
    """A corpus for one target, under both PyTorches."""

    pairs: tuple[Pair, ...]

    @cached_property
    def kernels(self) -> tuple[KernelPair, ...]:
        """Those of all functions, pair by pair."""
        return tuple(pair for each in self.pairs for pair in each.upgrade.comparison.pairs)

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """Why kernels differ, what can move numbers first."""
        members: dict[Form, list[KernelPair]] = defaultdict(list)
        for cause in (cause for each in self.pairs for cause in each.upgrade.causes):
            members[cause.form] += cause.pairs
        every = (Cause(form, tuple(pairs)) for form, pairs in members.items())
        return tuple(sorted(every, key=lambda e: (-RANK.index(e.form.numbers), -len(e.pairs))))

    def functions(self, cause: Cause) -> int:
        """How many functions have a kernel with this cause."""
        forms = ({each.form for each in pair.upgrade.causes} for pair in self.pairs)
        return sum(cause.form in some for some in forms)

    @property
    def differing(self) -> int:
        """Kernels with a cause, known or not."""
        return sum(len({id(p) for c in e.upgrade.causes for p in c.pairs}) for e in self.pairs)

    @property
    def unnamed(self) -> int:
        """Kernels that differ in what no rule knows."""
        return sum(len(cause.pairs) for cause in self.causes if cause.form == UNNAMED)

    @property
    def levels(self) -> dict[str, int]:
        """Kernels that both sides have, by how far they agree."""
        return dict(Counter(pair.level for pair in self.kernels if pair.old and pair.new))

    @property
    def on_one_side(self) -> tuple[Pair, ...]:
        """What compiles under one of the two only."""
        return tuple(each for each in self.pairs if each.upgrade.failed == 1)

    @property
    def moving(self) -> tuple[Pair, ...]:
        """Of which numbers can move, or nobody knows that they do not."""
        return tuple(e for e in self.pairs if not e.upgrade.failed and e.upgrade.moves_numbers)

    @property
    def memory(self) -> tuple[tuple[str, int, int], ...]:
        """Whose planned bytes differ, the largest growth first."""
        rows = tuple(_memory(self.pairs))
        return tuple(sorted(rows, key=lambda row: row[1] / row[2] if row[2] else 0.0))

    def stages(self) -> dict[str, int]:
        """Stage → of how many functions something differs there."""
        found = ({change.part for change in each.upgrade.comparison.changes} for each in self.pairs)
        return dict(Counter(part for parts in found for part in parts))


def _memory(pairs: Iterable[Pair]) -> Iterator[tuple[str, int, int]]:
    for each in pairs:
        old, new = (s.snapshot.planned_bytes for s in (each.upgrade.before, each.upgrade.after))
        if not each.upgrade.failed and None not in (old, new) and old != new:
            yield each.of.name, old or 0, new or 0


def _capture(of: Compile) -> Capture:
    if of.snapshot is None:
        return Capture(failure=Gap(of.name, of.failure, ""))
    return Capture(Report(of.name, "", snapshot=of.snapshot))


def _claims(record: VersionRecord) -> dict[str, str]:
    every = ((f"{name}#{claim}", came) for name, of in record.claims.items()
             for claim, came in of.items())  # fmt: skip
    return dict(every)


def steps(folder: Path) -> tuple[Step, ...]:
    """Every step between the records of a folder, the oldest first."""
    return tuple(Step(old, new) for old, new in pairwise(records.every(folder)))
