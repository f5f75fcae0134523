"""Keep rows in a file: one line of JSON for each, written as soon as the row is measured.

A file belongs to one environment, which its name and its first line identify. So a changed PyTorch,
card or suite starts a file of its own, and old rows never mix with new ones.
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
from tclab.site.store import checksums

#: The version of the method, raised when a method, a case or a size changes, so that rows of two
#: methods never mix.
SUITE = 1

OK = "ok"
#: The states of a row that was not measured: the result was wrong; an error ended the measurement;
#: the mode does not support the case; this machine lacks a package or memory; the time limit was
#: exceeded.
PROBLEMS = ("mismatch", "failed", "refused", "skipped", "timeout")

#: A median with a larger spread than this counts as unstable.
UNSTABLE = 0.03


class Facts(TypedDict, total=False):
    """The figures that a worker reports for a case in one mode, in addition to the times.

    The compiler's figures exist only if something was compiled.
    """

    beside: int  # number of other workers prepared at the same time
    sets: int  # number of sets of inputs, which calls use in turn
    rotated_bytes: int  # bytes of all sets
    cache_bytes: int  # size of the device's last-level cache
    build_s: float  # seconds to make weights and inputs
    first_s: float  # seconds of the first call
    recording_s: float  # seconds that the second and later calls took longer than warm calls
    warm_calls: int  # number of calls until the mode was warm
    call_us: float  # time of a warm call
    error: float | None  # relative error against float64; None if not finite
    eager_error: float | None
    peak_bytes: int  # peak during a warm call
    held_bytes: int  # memory that PyTorch reserves on the device, with CUDA graphs
    least_bytes: int  # bytes of each input, weight and output, counted once
    # operations of products, convolutions and attention in eager; None if unknown
    flops: int | None
    graphs: int
    breaks: int
    graphs_skipped: int  # number of CUDA graphs that Inductor skipped
    kernels: int
    ir_bytes: int  # bytes that Inductor counts for its kernels


@dataclass(frozen=True)
class Row:
    """The measurements of one case in one mode.

    `us` is the median time of one call in µs over `rounds`. `spread` is the interquartile range
    divided by this median. `eager_us` is the median of eager in the same rounds. `speed_up` is the
    median of the rounds' quotients.
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
        """Whether the case was measured."""
        return self.status == OK

    @property
    def unstable(self) -> bool:
        """Whether the spread of the rounds exceeds `UNSTABLE`."""
        return self.spread is not None and self.spread > UNSTABLE

    @property
    def key(self) -> tuple[str, str]:
        """The case and the mode, which identify a row in a file."""
        return self.case, self.mode

    @property
    def paid_seconds(self) -> float | None:
        """The seconds until the mode is warm: the first call, and the extra time of later calls."""
        if "first_s" not in self.facts:
            return None
        return self.facts["first_s"] + self.facts.get("recording_s", 0.0)

    @property
    def break_even(self) -> int | None:
        """The number of calls after which the saved time exceeds `paid_seconds`; None if it never
        does.
        """
        if self.us is None or self.eager_us is None or self.paid_seconds is None:
            return None
        saved = (self.eager_us - self.us) * 1e-6
        return int(self.paid_seconds / saved) + 1 if saved > 0 else None


def file_key(environment: Mapping[str, Any]) -> str:
    """Return a file's name: card, torch, suite, and a digest of the whole environment."""
    machine = environment["gpu"] or environment["cpu"].partition("(")[0].partition("@")[0]
    device = re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")
    names = ("gpu", "cpu", "cores", "torch", "torch_git", "triton", "python", "driver", "variables")
    exact = json.dumps([environment.get(name) for name in names] + [SUITE], sort_keys=True)
    digest = hashlib.sha256(exact.encode()).hexdigest()[:8]
    return f"{device}-torch{environment['torch']}-suite{SUITE}-{digest}"


@dataclass
class Book:
    """The rows of one environment, which a file keeps."""

    path: Path
    environment: Mapping[str, Any]
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path, environment: Mapping[str, Any]) -> Book:
        """Open the file of this environment in a folder, with its rows; create it if needed.

        Raises StoreError if the file cannot be written, or if it was changed since tclab wrote it.
        """
        book = cls(folder / f"{file_key(environment)}.jsonl", environment)
        book._append({"environment": dict(environment), "suite": SUITE}, first=True)
        return read(book.path)

    def add(self, row: Row) -> None:
        """Add a row. The row is on the disk when this method returns."""
        self.rows[row.key] = row
        self._append(asdict(row))

    def merge(self, rows: Iterable[Row]) -> None:
        """Add rows that are missing here, or that were not measured successfully before."""
        for row in rows:
            known = self.rows.get(row.key)
            if known is None or (not known.ok and row.ok):
                self.add(row)

    def has(self, case: str, mode: str) -> bool:
        """Return whether the book has a row of this case and mode."""
        return (case, mode) in self.rows

    def rows_of_case(self, case: str) -> dict[str, Row]:
        """Return the rows of a case by mode."""
        return {row.mode: row for row in self.rows.values() if row.case == case}

    def __iter__(self) -> Iterator[Row]:
        """Yield all rows in the order in which they were added."""
        return iter(self.rows.values())

    def _append(self, data: Mapping[str, Any], *, first: bool = False) -> None:
        """Append a line and update the file's digest; a failure leaves no part of the line.

        With `first`, the line is the first one of the file; if the file exists, check its content
        instead.
        """
        line = json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a+b", buffering=0) as file, checksums.hold_lock(self.path):
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
    """Remove an incomplete last line, which a killed process or a full disk left; seek to the
    file's end.

    A last line that lacks only its line break gets one.
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
    """Write a whole line to the disk. If that fails, leave the file unchanged and raise OSError."""
    size = file.tell()
    try:
        while line:
            line = line[file.write(line) :]
        os.fsync(file.fileno())
    except OSError:
        file.truncate(size)
        raise


def read(path: Path) -> Book:
    """Read a file of rows, without an incomplete last line. Raises StoreError for a file of another
    format.
    """
    try:
        lines = path.read_bytes().rstrip(b"\n").split(b"\n")
    except OSError as error:
        raise StoreError(str(path), str(error), "name a .jsonl file of tclab bench") from error
    head, *rest = [*_parse_lines(lines, path)] or [None]
    if not (isinstance(head, dict) and isinstance(head.get("environment"), dict)):
        step = "name a .jsonl file of tclab bench"
        raise StoreError(str(path), "does not begin with its environment", step)
    if head.get("suite") != SUITE:
        cause = f"is of suite {head.get('suite')}; this tclab has suite {SUITE}"
        raise StoreError(str(path), cause, "measure again with this tclab")
    rows = [_decode_row(one, path, number) for number, one in enumerate(rest, 2)]
    return Book(path, head["environment"], {row.key: row for row in rows})


def _parse_lines(lines: Sequence[bytes], path: Path) -> Iterator[Any]:
    """Yield the data of each line, except an incomplete last one."""
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except ValueError as error:
            if number == len(lines):  # the process was killed while it wrote
                return
            raise _bad_line(path, number, error) from error


def _decode_row(data: Any, path: Path, number: int) -> Row:
    try:
        return decode_fields(Row, data)
    except (TypeError, ValueError) as error:
        raise _bad_line(path, number, error) from error


def _bad_line(path: Path, number: int, error: Exception) -> StoreError:
    return StoreError(f"{path}:{number}", str(error), "restore the file")
