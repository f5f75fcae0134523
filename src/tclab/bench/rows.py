"""Rows, and the file they are kept in: one line of JSON each, written as it comes.

A file belongs to one environment. Its name and its first line say which, so that a changed
PyTorch, card or suite starts a file of its own and old rows are never mixed with new ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any, TypedDict

from tclab.errors import StoreError
from tclab.model import decode_fields
from tclab.store import checksums

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
        """The book of this environment in a folder, with the rows it already has. StoreError where
        it cannot be kept there, or is not what was written.
        """
        book = cls(folder / f"{key_of(environment)}.jsonl", environment)
        book._append({"environment": dict(environment), "suite": SUITE}, first=True)
        return read(book.path)

    def add(self, row: Row) -> None:
        """Keep a row: it is on the disk when this returns."""
        self.rows[row.key] = row
        self._append(asdict(row))

    def take(self, rows: Iterable[Row]) -> None:
        """Add what is new: a row that there is none of, or that was not measured so far."""
        for row in rows:
            before = self.rows.get(row.key)
            if before is None or (not before.ok and row.ok):
                self.add(row)

    def has(self, case: str, mode: str) -> bool:
        """Whether there is a row."""
        return (case, mode) in self.rows

    def of(self, case: str) -> dict[str, Row]:
        """A case's rows by mode."""
        return {row.mode: row for row in self.rows.values() if row.case == case}

    def __iter__(self) -> Iterator[Row]:
        """All rows, in the order in which they came."""
        return iter(self.rows.values())

    def _append(self, data: Mapping[str, Any], *, first: bool = False) -> None:
        """Write a line and its file's digest: whole, or not at all. The `first` is left out where
        there is one, after a look at what is there.
        """
        line = json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a+b", buffering=0) as file, checksums.locked(self.path):
                if first:
                    checksums.check_beginning(self.path)
                _end_last_line(file)
                if not (first and file.tell()):
                    _write(file, line.encode("utf-8", "backslashreplace"))
                checksums.write(self.path)
        except OSError as error:
            cause = f"no row can be kept: {error.strerror}"
            step = "make room and a folder that can be written, then the same command goes on"
            raise StoreError(str(self.path), cause, step) from None


def _end_last_line(file: FileIO) -> None:
    """What a kill or a full disk left of a last line: cut off, or ended where only that is missing.
    The file is then at its end.
    """
    file.seek(0)
    if tail := file.read().rpartition(b"\n")[2]:
        try:
            json.loads(tail)
            file.write(b"\n")
        except ValueError:
            file.truncate(file.tell() - len(tail))
    file.seek(0, os.SEEK_END)


def _write(file: FileIO, line: bytes) -> None:
    """All of a line, on the disk, or nothing of it. OSError."""
    size = file.tell()
    try:
        while line:
            line = line[file.write(line) :]
        os.fsync(file.fileno())
    except OSError:
        file.truncate(size)
        raise


def read(path: Path) -> Book:
    """A file of rows; a last line that was cut off is left out. StoreError where it is none."""
    try:
        lines = path.read_bytes().rstrip(b"\n").split(b"\n")
    except OSError as error:
        raise StoreError(str(path), str(error), "name a .jsonl file of tclab bench") from error
    head, *rest = [*_parsed(lines, path)] or [None]
    if not (isinstance(head, dict) and isinstance(head.get("environment"), dict)):
        step = "name a .jsonl file of tclab bench"
        raise StoreError(str(path), "does not begin with its environment", step)
    if head.get("suite") != SUITE:
        cause = f"is of suite {head.get('suite')}; this tclab has suite {SUITE}"
        raise StoreError(str(path), cause, "measure again with this tclab")
    rows = [_row(one, path, number) for number, one in enumerate(rest, 2)]
    return Book(path, head["environment"], {row.key: row for row in rows})


def _parsed(lines: Sequence[bytes], path: Path) -> Iterator[Any]:
    """What each line says, but for a last one that was cut off."""
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except ValueError as error:
            if number == len(lines):  # killed while it wrote
                return
            raise _bad_line(path, number, error) from error


def _row(data: Any, path: Path, number: int) -> Row:
    try:
        return decode_fields(Row, data)
    except (TypeError, ValueError) as error:
        raise _bad_line(path, number, error) from error


def _bad_line(path: Path, number: int, error: Exception) -> StoreError:
    return StoreError(f"{path}:{number}", str(error), "restore the file")
