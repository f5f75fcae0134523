"""Rows, and the file they are kept in: one line of JSON each, written as it comes.

A file belongs to one environment. Its name and its first line say which, so that a changed
PyTorch, card or suite starts a file of its own and old rows are never mixed with new ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from tclab.errors import StoreError

#: Changes when a method, a case or a size changes, so that rows of two methods never meet.
SUITE = 1

OK = "ok"
#: What a row can be beside `OK`: it did not compute the same; it ended in an error; the mode
#: says that it cannot; something is missing here; it took longer than its limit.
PROBLEMS = ("mismatch", "failed", "refused", "skipped", "timeout")

#: Above this spread a median is called unstable.
UNSTABLE = 0.03


class Facts(TypedDict, total=False):
    """What a worker tells of a case in one mode, beside its times; those of the compiler are there
    where something was compiled.
    """

    beside: int  # workers that were prepared at the same time
    sets: int  # of inputs, which calls take in turn
    rotated_bytes: int  # of all sets
    cache_bytes: int  # of the device's last cache
    build_s: float  # seconds to make weights and inputs
    first_s: float  # seconds of the first call
    recording_s: float  # seconds that later calls took beyond a warm one's
    warm_calls: int  # until it was warm
    call_us: float  # of a warm call
    error: float | None  # against float64, relative; None if not finite
    eager_error: float | None
    peak_bytes: int  # of a warm call
    held_bytes: int  # that PyTorch keeps of the device, CUDA graphs' included
    least_bytes: int  # each input, weight and output once
    flops: int | None  # of eager's products, convolutions and attention; None: cannot be counted
    graphs: int
    breaks: int
    graphs_skipped: int  # CUDA graphs that Inductor did not make
    kernels: int
    ir_bytes: int  # Inductor's own count over its kernels


@dataclass(frozen=True)
class Row:
    """What was measured of one case in one mode.

    `us` is the median time of one call in µs over `rounds`; `spread` its interquartile range over
    the median; `eager_us` the median of eager in the same rounds; `speed_up` the median of the
    rounds' quotients.
    """

    case: str
    mode: str
    phase: str
    status: str = OK
    us: float | None = None
    spread: float | None = None
    eager_us: float | None = None
    speed_up: float | None = None
    rounds: tuple[float, ...] = ()
    reason: str = ""
    facts: Facts = field(default_factory=Facts)

    @property
    def ok(self) -> bool:
        """It was measured."""
        return self.status == OK

    @property
    def unstable(self) -> bool:
        """Its rounds differ by more than `UNSTABLE`."""
        return self.spread is not None and self.spread > UNSTABLE

    @property
    def key(self) -> tuple[str, str]:
        """The case and the mode: once in a file."""
        return self.case, self.mode

    @property
    def paid_seconds(self) -> float | None:
        """Seconds before the mode is warm: the first call, and what later calls recorded."""
        if "first_s" not in self.facts:
            return None
        return self.facts["first_s"] + self.facts.get("recording_s", 0.0)

    @property
    def break_even(self) -> int | None:
        """Calls after which `paid_seconds` are saved; None where they never are."""
        if self.us is None or self.eager_us is None or self.paid_seconds is None:
            return None
        saved = (self.eager_us - self.us) * 1e-6
        return int(self.paid_seconds / saved) + 1 if saved > 0 else None


def key_of(environment: Mapping[str, Any]) -> str:
    """A name for a file: card, torch, Triton, suite, and a digest of all that must not change."""
    machine = environment["gpu"] or environment["cpu"].partition("(")[0].partition("@")[0]
    device = re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")
    names = ("gpu", "cpu", "cores", "torch", "torch_git", "triton", "python", "driver", "variables")
    exact = json.dumps([environment.get(name) for name in names] + [SUITE], sort_keys=True)
    digest = hashlib.sha256(exact.encode()).hexdigest()[:8]
    return f"{device}-torch{environment['torch']}-suite{SUITE}-{digest}"


@dataclass
class Book:
    """The rows of one environment, and the file they are added to."""

    path: Path
    environment: Mapping[str, Any]
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path, environment: Mapping[str, Any]) -> Book:
        """The book of this environment in a folder, with the rows it already has."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{key_of(environment)}.jsonl"
        if path.exists():
            book = read(path)
            return cls(path, book.environment, book.rows)
        book = cls(path, environment)
        book._append({"environment": dict(environment), "suite": SUITE})
        return book

    def add(self, row: Row) -> None:
        """Keep a row: it is on the disk when this returns."""
        self.rows[row.key] = row
        self._append(asdict(row))

    def has(self, case: str, mode: str) -> bool:
        """Whether there is a row."""
        return (case, mode) in self.rows

    def of(self, case: str) -> dict[str, Row]:
        """A case's rows by mode."""
        return {row.mode: row for row in self.rows.values() if row.case == case}

    def __iter__(self) -> Iterator[Row]:
        """All rows, in the order in which they came."""
        return iter(self.rows.values())

    def _append(self, data: Mapping[str, Any]) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())


def read(path: Path) -> Book:
    """A file of rows; a last line that was cut off is left out. StoreError where it is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise StoreError(str(path), str(error), "name a .jsonl file of tclab bench") from error
    data = list(_parsed(lines, path))
    if not data or "environment" not in data[0]:
        step = "name a .jsonl file of tclab bench"
        raise StoreError(str(path), "does not begin with its environment", step)
    if data[0].get("suite") != SUITE:
        cause = f"is of suite {data[0].get('suite')}; this tclab has suite {SUITE}"
        raise StoreError(str(path), cause, "measure again with this tclab")
    rows = [Row(**{**one, "rounds": tuple(one["rounds"])}) for one in data[1:] if "case" in one]
    return Book(path, data[0]["environment"], {row.key: row for row in rows})


def _parsed(lines: Iterable[str], path: Path) -> Iterator[dict[str, Any]]:
    lines = list(lines)
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except ValueError as error:
            if number == len(lines):  # killed while it wrote
                return
            raise StoreError(f"{path}:{number}", str(error), "restore the file") from error
