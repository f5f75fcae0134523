"""The rows that `tclab bench` recorded on an H200, and what several snippets make of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tclab.workshop.bench.rows import Book, Row, read
from tclab.workshop.bench.statistics import geomean

HERE = Path(__file__).resolve().parent
MODES = ("default", "reduce-overhead", "max-autotune")
DESCENT = "coordinate-descent"


def recorded(folder: str = "") -> Book:
    """The rows: in a folder of the project's records, or of this one where it was downloaded."""
    places = [HERE / folder, HERE.parents[1] / "records" / "h200-torch2.11" / folder]
    paths = [path for place in places for path in sorted(place.glob("*-suite*.jsonl"))]
    return read(paths[0])


def run_of(snippet: str, artifact: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """An artifact of a snippet's recorded run, and the run's provenance: of the project's records,
    or of this folder where they were downloaded.
    """
    recorded_in = HERE.parents[1] / "records" / "h200-torch2.11" / "benchmarks" / snippet
    folder = HERE if (HERE / artifact).exists() else recorded_in
    content, run = (json.loads((folder / f).read_text("utf-8")) for f in (artifact, "run.json"))
    return content, run["run"]["provenance"]


def where(book: Book) -> str:
    """The machine and the first day, for a caption: these rows are not of this machine."""
    told = book.environment
    return f"{told['gpu']}, PyTorch {told['torch']}, Triton {told['triton']}, begun {told['date']}"


def by_case(book: Book, *phases: str) -> dict[str, dict[str, Row]]:
    """The rows of some phases by case and mode; of cases that eager was measured of."""
    cases: dict[str, dict[str, Row]] = {}
    for row in book:
        if row.phase in phases:
            cases.setdefault(row.case, {})[row.mode] = row
    return {name: rows for name, rows in cases.items() if "eager" in rows and rows["eager"].ok}


def speed(rows: dict[str, Row], mode: str) -> float | None:
    """Eager's time over the mode's, None where it was not measured."""
    return rows[mode].speed_up if mode in rows and rows[mode].ok else None


def speeds(cases: dict[str, dict[str, Row]], mode: str) -> list[float]:
    """Of every case that has one."""
    return [s for rows in cases.values() if (s := speed(rows, mode)) is not None]


def modes_of(cases: dict[str, dict[str, Row]]) -> tuple[str, ...]:
    """The modes that a third of the cases, at least, was measured in: the others say too little."""
    return tuple(mode for mode in MODES if 3 * len(speeds(cases, mode)) >= len(cases))


def stable(rows: dict[str, Row], mode: str) -> bool:
    """Neither the mode's spread nor eager's is above 3 %."""
    return not (rows[mode].unstable or rows["eager"].unstable)


def means(cases: dict[str, dict[str, Row]]) -> list[tuple]:
    """A line a mode: how many, their geometric mean, the least, the most, how many are slower, and
    the same of the stable rows alone.
    """
    lines = []
    for mode in modes_of(cases):
        if some := speeds(cases, mode):
            calm = {n: r for n, r in cases.items() if speed(r, mode) and stable(r, mode)}
            counts = (min(some), max(some), sum(s < 1 for s in some), len(calm))
            lines.append((mode, len(some), geomean(some), *counts, geomean(speeds(calm, mode))))
    return lines


MEAN_COLUMNS = {"mode": "", "measured": "", "mean": "× .2f", "least": "× .2f"}
MEAN_COLUMNS |= {"most": "× .2f", "slower than eager": "", "stable": "", "their mean": "× .2f"}
