"""Two captures beside each other: stage by stage from the top, and what that means to a user."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tclab.model import Advice, Gap, Kernel, KernelIdentity, Report, Snapshot
from tclab.snapshot import Comparison, compare
from tclab.upgrade import causes
from tclab.upgrade.captures import Capture

#: The stage above all others.
COMPILES = "whether it compiles"


@dataclass(frozen=True)
class Side:
    """The function under one PyTorch. `failure` says why there is no compile, `lacks` what could
    not be known of one. `seconds` are those of its compiles where both sides compiled in turns.
    """

    torch: str
    capture: Capture
    seconds: tuple[float, ...] = ()

    @property
    def failure(self) -> Gap | None:
        """Why it does not compile. What a target refuses above its kernels is no compile either."""
        report = self.capture.report
        refused = report.refusal if report and not report.has_kernels else None
        return self.capture.failure or refused

    @property
    def lacks(self) -> tuple[Gap, ...]:
        """What cannot be compared."""
        report = self.capture.report or Report("", "")
        refusal = () if self.failure or not report.refusal else (report.refusal,)
        fault = (Gap("tclab", report.fault, "please report it"),) if report.fault else ()
        return (*report.gaps, *report.left_out, *refusal, *fault)

    @property
    def advisories(self) -> tuple[Advice, ...]:
        """The known faults of its PyTorch that it has."""
        return self.capture.report.advisories if self.capture.report else ()

    @property
    def snapshot(self) -> Snapshot:
        """What is compared; an empty one where there is no compile."""
        return self.capture.report.snapshot if self.capture.report else Snapshot()


@dataclass(frozen=True)
class Upgrade:
    """One function under two PyTorches. What only one side compiles differs, and nothing more can
    be said of it.
    """

    title: str
    before: Side
    after: Side

    @property
    def failed(self) -> int:
        """On how many sides it does not compile."""
        return sum(bool(side.failure) for side in (self.before, self.after))

    @cached_property
    def comparison(self) -> Comparison:
        """Empty where a side does not compile."""
        return Comparison() if self.failed else compare(self.before.snapshot, self.after.snapshot)

    @cached_property
    def causes(self) -> tuple[causes.Cause, ...]:
        """Why kernels differ."""
        return causes.group(self.comparison.pairs)

    @property
    def first(self) -> str:
        """The first stage that differs, '' where none does."""
        return COMPILES if self.failed == 1 else self.comparison.first_part

    @property
    def complete(self) -> bool:
        """Whether all that there is was compared; a side that does not compile is a result."""
        return self.failed < 2 and not (self.before.lacks or self.after.lacks)

    @property
    def moves_numbers(self) -> str:
        """The first stage by which results can differ, or by which nobody knows whether they do;
        '' where there is none. Dynamo's own names for operators move nothing.
        """
        if self.failed:
            return COMPILES
        moving = ("graph breaks", "graphs", "library calls")
        parts = [e.part for e in self.comparison.changes if e.detail != "dynamo"]
        kernels = ["kernels"] * any(each.form.moves for each in self.causes)
        return next((part for part in [*kernels, *moving] if part in [*parts, *kernels]), "")

    @property
    def worse(self) -> bool:
        """Whether something got worse, or can. A guard or a register more is not felt by itself."""
        numbers = any(each.form.moves for each in self.causes)
        new = {e.title for e in self.after.advisories} - {e.title for e in self.before.advisories}
        failed = bool(self.after.failure or new) or not self.complete
        unfelt = ("guards", "registers", "shared")
        changes = (e for e in self.comparison.changes if e.detail not in unfelt)
        return failed or numbers or any(each.worse for each in changes)

    def lines(self, kernel: KernelIdentity) -> tuple[str, ...]:
        """The user's lines that a kernel comes from."""
        reports = (side.capture.report for side in (self.after, self.before))
        places = (found for each in reports if each for found in _lines(each, kernel.text))
        return next(places, ())


def _lines(report: Report, digest: str) -> Iterator[tuple[str, ...]]:
    rows = {row.name: tuple(map(str, row.lines)) for row in report.kernels}
    for pane in (pane for chain in report.chains for pane in chain.panes):
        if isinstance(pane, Kernel) and hashlib.sha256(pane.code.encode()).hexdigest() == digest:
            yield rows.get(pane.kernel_name, ())


def status(upgrades: Sequence[Upgrade]) -> int:
    """What the command ends with: 3 incomplete, 4 something differs, 0 the same."""
    if not all(each.complete for each in upgrades):
        return 3
    return 4 if any(each.first for each in upgrades) else 0
