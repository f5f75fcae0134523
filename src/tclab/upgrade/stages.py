"""Compare a function's compiles under two PyTorches, stage by stage from the first."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from tclab.compare.causes import Cause, find_causes
from tclab.compare.changes import PARTS, Comparison, compare_snapshots
from tclab.model import (
    Finding,
    Kernel,
    KernelIdentity,
    Measurement,
    Problem,
    Report,
    Snapshot,
)
from tclab.model.snapshots import NOTHING
from tclab.upgrade.captures import ExplainResult

#: The first stage, before all of PARTS.
COMPILES = "whether it compiles"


@dataclass(frozen=True)
class Side:
    """The function under one PyTorch. `seconds` are the durations of its compiles if both sides
    compiled several times in turns.
    """

    torch: str
    result: ExplainResult
    seconds: tuple[float, ...] = ()

    @property
    def failure(self) -> Problem | None:
        """The reason why the function does not compile, such as a target that refuses it and shows
        no kernels.
        """
        report = self.result.report
        refused = report.refusal if report and not report.has_kernels else None
        return self.result.failure or refused

    @property
    def gaps(self) -> tuple[Problem, ...]:
        """The parts of the compile that are missing and therefore cannot be compared."""
        report = self.result.report or Report("", "")
        refusal = () if self.failure or not report.refusal else (report.refusal,)
        step = "call it with tensors that it computes with"
        empty = not self.failure and self.snapshot.is_empty
        nothing = (Problem(report.title, NOTHING, step),) if empty else ()
        fault = (Problem("tclab", report.fault, "please report it"),) if report.fault else ()
        return (*report.gaps, *report.left_out, *refusal, *nothing, *fault)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of the compile, the highest cost first."""
        return self.result.report.findings if self.result.report else ()

    @property
    def measurement(self) -> Measurement | None:
        """The times of the calls; None if they were not asked for, or if the compile failed."""
        return self.result.report.measurement if self.result.report else None

    @property
    def kernel_seconds(self) -> float | None:
        """The measured seconds of all kernels and library calls of a call; None if unknown."""
        rows = self.result.report.kernels if self.result.report else ()
        return sum(row.seconds for row in rows if row.seconds) or None

    @property
    def snapshot(self) -> Snapshot:
        """The compile's identities; empty if it failed."""
        return self.result.report.snapshot if self.result.report else Snapshot()


@dataclass(frozen=True)
class Upgrade:
    """The compiles of one function under two PyTorches. If only one side compiles, this fact is the
    only difference, and no stage is compared.
    """

    title: str
    before: Side
    after: Side

    @property
    def failed_sides(self) -> int:
        """The number of sides on which the function does not compile: 0, 1 or 2."""
        return sum(bool(side.failure) for side in (self.before, self.after))

    @cached_property
    def comparison(self) -> Comparison:
        """The differences of both compiles; empty if a side does not compile."""
        return (
            Comparison()
            if self.failed_sides
            else compare_snapshots(self.before.snapshot, self.after.snapshot)
        )

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """The causes of differences between kernels."""
        return find_causes(self.comparison.pairs)

    @property
    def differing_kernels(self) -> int:
        """The number of kernel pairs that have a cause."""
        return len({id(pair) for cause in self.causes for pair in cause.pairs})

    @property
    def stage_rows(self) -> list[tuple[str, int | None, int | None, int]]:
        """A row for each part: name, size before and after, number of differences."""
        differing = Counter(each.part for each in self.comparison.changes)
        differing["kernels"] = self.differing_kernels
        before, after = (_count_parts(side.snapshot) for side in (self.before, self.after))
        return [(part, before[part], after[part], differing[part]) for part in PARTS]

    @property
    def timing_rows(self) -> list[tuple[str, float, float, float]]:
        """A row for each round: its number, the seconds of both sides and their ratio; the last row
        has the medians. There are no rows if only one round was requested.
        """
        pairs = list(zip(self.before.seconds, self.after.seconds))
        medians = [("median", *map(median, zip(*pairs)))] if pairs else []
        rows = [*((str(number), *both) for number, both in enumerate(pairs, 1)), *medians]
        return [(name, before, after, after / before) for name, before, after in rows]

    @property
    def first_difference(self) -> str:
        """The first stage that differs; '' if no stage does."""
        return COMPILES if self.failed_sides == 1 else self.comparison.first_part

    @property
    def is_complete(self) -> bool:
        """Whether every stage was compared. A side that does not compile counts as compared."""
        return self.failed_sides < 2 and not (self.before.gaps or self.after.gaps)

    @property
    def first_numeric_difference(self) -> str:
        """The first stage whose differences can or may change results; '' if there is none.
        Differences in Dynamo's graphs do not count, because only the names of operators may differ.
        """
        if self.failed_sides:
            return COMPILES
        moving = ("graph breaks", "graphs", "library calls")
        parts = [e.part for e in self.comparison.changes if e.detail != "dynamo"]
        kernels = ["kernels"] * any(each.form.can_move_numbers for each in self.causes)
        return next((part for part in [*kernels, *moving] if part in [*parts, *kernels]), "")

    @property
    def is_worse(self) -> bool:
        """Whether something is worse, or may be worse. More guards, registers or shared memory
        alone do not count.
        """
        numbers = any(each.form.can_move_numbers for each in self.causes)
        failed = bool(self.after.failure) or not self.is_complete
        harmless = ("guards", "registers", "shared")
        changes = (e for e in self.comparison.changes if e.detail not in harmless)
        return failed or numbers or any(each.worse for each in changes)

    def find_user_lines(self, kernel: KernelIdentity) -> tuple[str, ...]:
        """Return the user's lines that a kernel was made from."""
        reports = (side.result.report for side in (self.after, self.before))
        lines = (
            found for each in reports if each for found in _find_kernel_lines(each, kernel.text)
        )
        return next(lines, ())


def _count_parts(snapshot: Snapshot) -> dict[str, int | None]:
    """Return the size of each part of a snapshot."""
    return {
        "graph breaks": len(snapshot.breaks),
        "recompiles": len(snapshot.recompiles),
        "graphs": sum(graph.stage == "dynamo" for graph in snapshot.graphs),
        "kernels": len(snapshot.kernels),
        "library calls": sum(snapshot.library_calls.values()),
        "guards": snapshot.guards,
        "CUDA graphs": len(snapshot.skipped_graphs),
        "memory": snapshot.planned_bytes,
        "findings": None if snapshot.findings is None else len(snapshot.findings),
    }


def _find_kernel_lines(report: Report, digest: str) -> Iterator[tuple[str, ...]]:
    rows = {row.name: tuple(map(str, row.lines)) for row in report.kernels}
    for pane in (pane for chain in report.chains for pane in chain.panes):
        if isinstance(pane, Kernel) and hashlib.sha256(pane.code.encode()).hexdigest() == digest:
            yield rows.get(pane.kernel_name, ())


def exit_status(upgrades: Sequence[Upgrade]) -> int:
    """Return the command's exit status: 3 if a comparison is incomplete, 4 if something differs, 0
    otherwise.
    """
    if not all(each.is_complete for each in upgrades):
        return 3
    return 4 if any(each.first_difference for each in upgrades) else 0
