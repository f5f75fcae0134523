"""Format and print the command's lines: progress, results, and two files side by side."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from tclab.model import EAGER
from tclab.workshop.bench.rows import Book, Row
from tclab.workshop.bench.statistics import geomean


def say(line: str = "") -> None:
    """Print a line on stdout and flush it."""
    print(line, flush=True)


def warn(line: str) -> None:
    """Print a line on stderr and flush it."""
    print(line, file=sys.stderr, flush=True)


def format_time(us: float | None) -> str:
    """Format a time given in µs as µs, ms or s, with three digits; None gives a dash."""
    if us is None:
        return "–"
    for unit, factor in (("µs", 1.0), ("ms", 1e3)):
        if us / factor < 1000:
            return f"{us / factor:.3g} {unit}"
    return f"{us / 1e6:.3g} s"


def format_row(row: Row) -> str:
    """Format a row in a few words: ``default 201 µs 1.55×``."""
    if not row.ok:
        return f"{row.mode} {row.status}"
    speed = f" {row.speed_up:.2f}×" if row.speed_up and row.mode != EAGER else ""
    mark = " unstable" if row.unstable else ""
    return f"{row.mode} {format_time(row.us)}{speed}{mark}"


def format_case(rows: Sequence[Row], done_count: int, total: int, seconds_left: float) -> str:
    """Format a case's line: its number, its results, and the seconds left of the suite."""
    results = ", ".join(format_row(row) for row in rows) or "nothing in time"
    name = rows[0].case if rows else ""
    return f"[{done_count}/{total}] {name}: {results}  (about {seconds_left:.0f} s left)"


def summarize(rows: Iterable[Row]) -> list[str]:
    """Return a line for each phase and mode: the geometric mean, and counts of rows."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.mode != EAGER and row.phase != "ceiling":
            groups.setdefault((row.phase, row.mode), []).append(row)
    return [_format_mean(phase, mode, group) for (phase, mode), group in sorted(groups.items())]


def _format_mean(phase: str, mode: str, rows: Sequence[Row]) -> str:
    speeds = [row.speed_up for row in rows if row.ok and row.speed_up]
    mean = geomean(speeds)
    slower = sum(speed < 1 for speed in speeds)
    mean_text = f"{mean:.2f}×" if mean else "–"
    problems = len(rows) - len(speeds)
    counts = f"{len(speeds)} measured, {slower} slower than eager, {problems} not measured"
    return f"{phase:<10} {mode:<18} {mean_text:>7}  {counts}"


# --------------------------------------------------------------------------- two files


def agree(one: Row, other: Row) -> bool:
    """Return whether two medians differ by at most the sum of their spreads, each at least 3 %."""
    if not (one.us and other.us):
        return False
    allowed = max(0.03, one.spread or 0.0) + max(0.03, other.spread or 0.0)
    return abs(one.us / other.us - 1) <= allowed


def compare_books(ours: Book, theirs: Book) -> list[str]:
    """Return lines that compare the times of two files row by row, and a line that says how many
    rows agree.
    """
    lines = [f"{_describe_machine(ours)}  |  {_describe_machine(theirs)}"]
    pairs = [(row, theirs.rows[row.key]) for row in ours if row.key in theirs.rows]
    both = [(a, b) for a, b in pairs if a.us and b.us]
    width = max((len(f"{a.case} {a.mode}") for a, _ in both), default=0)
    lines += [_format_pair(a, b, width) for a, b in both]
    same = sum(agree(a, b) for a, b in both)
    lines.append(f"{same} of {len(both)} rows agree within their spreads")
    unpaired = len(ours.rows) + len(theirs.rows) - 2 * len(pairs)
    if unpaired:
        lines.append(f"{unpaired} rows are in one file only")
    return lines


def _format_pair(a: Row, b: Row, width: int) -> str:
    """Format two rows' times, and the second time divided by the first."""
    mark = "" if agree(a, b) else "  apart"
    ratio = (b.us or 0.0) / (a.us or 1.0)
    name = f"{a.case} {a.mode}"
    return f"{name:<{width}}  {format_time(a.us):>8}  {format_time(b.us):>8}  {ratio:.2f}×{mark}"


def _describe_machine(book: Book) -> str:
    machine = book.environment
    return f"{machine['gpu'] or machine['cpu']}, torch {machine['torch']}, {machine['date']}"
