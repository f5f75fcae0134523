"""Summarise a compile for a verdict: the breaks and recompiles that count, and the breaks in other
packages' code, which do not count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tclab.compare.identity import identify_finding, take_snapshot
from tclab.model import Break, BreakIdentity, Finding, Report, Snapshot, SourceLine
from tclab.system import machine

if TYPE_CHECKING:
    from tclab.capturing import Capture


@dataclass(frozen=True)
class CompileSummary:
    """One compile. `snapshot` has the breaks and recompiles that count. `breaks` are the same
    breaks, in the same order, with reasons and hints; `breaks_elsewhere` are the breaks in other
    code. `findings` say what to do.
    """

    snapshot: Snapshot
    breaks: tuple[Break, ...] = ()
    breaks_elsewhere: tuple[BreakIdentity, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was compiled, and no graph break says why."""
        return self.snapshot.is_empty and not self.breaks_elsewhere

    def find_break(self, identity: object) -> Break | None:
        """Return the break with this identity, or None."""
        pairs = zip(self.snapshot.breaks, self.breaks)
        return next((item for own, item in pairs if own == identity), None)

    def find_finding(self, identity: object) -> Finding | None:
        """Return the finding with this identity, or None. The costs may differ."""
        named = ((identify_finding(each), each) for each in self.findings)
        return next((e for i, e in named if replace(i, amount=0.0, unit="") == identity), None)


def summarize_report(report: Report) -> CompileSummary:
    """Summarise a report's compile; breaks and findings in all code count."""
    return CompileSummary(report.snapshot, report.breaks.breaks, findings=report.findings)


def summarize_capture(
    capture: Capture, within: str = "", title: str = "", target: str = ""
) -> CompileSummary:
    """Summarise a capture. With `within`, a package, only breaks and recompiles in its code count,
    and guards do not count, because the package of a guard is unknown.
    """
    snapshot = take_snapshot(capture, machine.here(), title, target)
    pairs = list(zip(snapshot.breaks, capture.breaks))
    mine = [pair for pair in pairs if _is_within(pair[1].location, within)]
    recompiles = zip(snapshot.recompiles, capture.recompiles.recompiles)
    kept = replace(
        snapshot,
        breaks=tuple(identity for identity, _ in mine),
        recompiles=tuple(each for each, item in recompiles if _is_within(item.location, within)),
    )
    if within:
        kept = replace(kept, guards=0, python_guards=0)
    elsewhere = tuple(own for own, item in pairs if not _is_within(item.location, within))
    return CompileSummary(kept, tuple(item for _, item in mine), elsewhere)


def _is_within(line: SourceLine | None, package: str) -> bool:
    """Return whether a line is in a package or module; the package '' contains every line."""
    if not package:
        return True
    parts = (line.file if line else "").removesuffix(".py").split("/")
    name = package.split(".")
    return any(parts[at : at + len(name)] == name for at in range(len(parts)))
