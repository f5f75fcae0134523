"""What the command prints while it measures, and of two files side by side. Plain text."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from tclab.bench.case import EAGER
from tclab.bench.rows import Book, Row
from tclab.bench.statistics import geomean


def say(line: str = "") -> None:
    """A line on stdout, at once."""
    print(line, flush=True)


def warn(line: str) -> None:
    """A line on stderr."""
    print(line, file=sys.stderr, flush=True)


def time(us: float | None) -> str:
    """A time in µs, ms or s, with three digits."""
    if us is None:
        return "–"
    for unit, factor in (("µs", 1.0), ("ms", 1e3)):
        if us / factor < 1000:
            return f"{us / factor:.3g} {unit}"
    return f"{us / 1e6:.3g} s"


def result(row: Row) -> str:
    """A row in a few words: ``default 201 µs 1.55×``."""
    if not row.ok:
        return f"{row.mode} {row.status}"
    speed = f" {row.speed_up:.2f}×" if row.speed_up and row.mode != EAGER else ""
    mark = " unstable" if row.unstable else ""
    return f"{row.mode} {time(row.us)}{speed}{mark}"


def case(rows: Sequence[Row], done: int, total: int, left: float) -> str:
    """A case's line: how far, the results, about how many seconds are left of the suite."""
    results = ", ".join(result(row) for row in rows) or "nothing in time"
    name = rows[0].case if rows else ""
    return f"[{done}/{total}] {name}: {results}  (about {left:.0f} s left)"


def summary(rows: Iterable[Row]) -> list[str]:
    """Geometric means by phase and mode, with how many rows each has and how many are slower."""
    by: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.mode != EAGER and row.phase != "ceiling":
            by.setdefault((row.phase, row.mode), []).append(row)
    return [_mean(phase, mode, group) for (phase, mode), group in sorted(by.items())]


def _mean(phase: str, mode: str, rows: Sequence[Row]) -> str:
    speeds = [row.speed_up for row in rows if row.ok and row.speed_up]
    mean = geomean(speeds)
    slower = sum(speed < 1 for speed in speeds)
    mean_text = f"{mean:.2f}×" if mean else "–"
    problems = len(rows) - len(speeds)
    counts = f"{len(speeds)} measured, {slower} slower than eager, {problems} not measured"
    return f"{phase:<10} {mode:<18} {mean_text:>7}  {counts}"


# --------------------------------------------------------------------------- two files


def agree(one: Row, other: Row) -> bool:
    """Their medians differ by no more than the two spreads, of which each is 3 % at least."""
    if not (one.us and other.us):
        return False
    allowed = max(0.03, one.spread or 0.0) + max(0.03, other.spread or 0.0)
    return abs(one.us / other.us - 1) <= allowed


def comparison(ours: Book, theirs: Book) -> list[str]:
    """Times of two files row by row, and how many agree within their spreads."""
    lines = [f"{_machine(ours)}  |  {_machine(theirs)}"]
    pairs = [(row, theirs.rows[row.key]) for row in ours if row.key in theirs.rows]
    both = [(a, b) for a, b in pairs if a.us and b.us]
    width = max((len(f"{a.case} {a.mode}") for a, _ in both), default=0)
    lines += [_pair(a, b, width) for a, b in both]
    same = sum(agree(a, b) for a, b in both)
    lines.append(f"{same} of {len(both)} rows agree within their spreads")
    lonely = len(ours.rows) + len(theirs.rows) - 2 * len(pairs)
    if lonely:
        lines.append(f"{lonely} rows are in one file only")
    return lines


def _pair(a: Row, b: Row, width: int) -> str:
    """Two rows' times, and the second's over the first's."""
    mark = "" if agree(a, b) else "  apart"
    ratio = (b.us or 0.0) / (a.us or 1.0)
    name = f"{a.case} {a.mode}"
    return f"{name:<{width}}  {time(a.us):>8}  {time(b.us):>8}  {ratio:.2f}×{mark}"


def _machine(book: Book) -> str:
    machine = book.environment
    return f"{machine['gpu'] or machine['cpu']}, torch {machine['torch']}, {machine['date']}"
