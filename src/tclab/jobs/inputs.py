"""Find the traces and profiles of a job: in a folder, compressed, or in an archive. Nothing is
unpacked to disk, and no link is followed out of a folder.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tclab.errors import BadRequest

#: The next step of an error, which says how to make a trace.
_MAKE_TRACE = "run the job with TORCH_TRACE=FOLDER set, and open that folder"
# V1126 03:02:44.762000 600 torch/_dynamo/utils.py:2126] {"chromium_event": {}, "frame_id": 0}
_HEADER = re.compile(r"^[VIWEC]\d{4} .*?\] ?\{", re.MULTILINE)
# dedicated_log_torch_trace_rank_0_4n2ziqx2.log.gz
_RANK = re.compile(r"dedicated_log_torch_trace_rank_(?P<rank>\d{1,9})(?:_\w+)?\.log(?:\.gz)?")
#: If the beginning of a log was cut off, the first record is searched for in this number of
#: characters.
_MOST_SEARCHED = 2**22
_ARCHIVES = (".tar", ".tar.gz", ".tgz")
#: The errors that reading a damaged file can raise.
DAMAGED = (OSError, EOFError, zlib.error, tarfile.TarError, UnicodeError)


@dataclass(frozen=True)
class Input:
    """One file of a job, with its name and a stream of its bytes, which may be compressed."""

    name: str
    stream: IO[bytes]

    def text(self) -> IO[str]:
        """Return the content as text, with a mark for bytes that are not UTF-8. Raises OSError for
        a file that cannot be read.
        """
        is_compressed = self.stream.read(2) == b"\x1f\x8b"
        self.stream.seek(0)
        content = gzip.GzipFile(fileobj=self.stream) if is_compressed else self.stream
        return io.TextIOWrapper(content, encoding="utf-8", errors="replace", newline="\n")


def find_inputs(path: Path) -> Iterator[Input]:
    """Yield each file of a folder or of an archive, or the file itself. Raises BadRequest for any
    other path.
    """
    if path.is_dir():
        yield from _files_below(path)
    elif not path.is_file():
        cause = "is no file or folder" if path.exists() else "does not exist"
        raise BadRequest(str(path), cause, _MAKE_TRACE)
    elif path.name.endswith(_ARCHIVES):
        yield from _files_in_archive(path)
    else:
        yield Input(path.name, _open(path))


def _open(file: Path) -> IO[bytes]:
    """Return a stream of the bytes of a file. If the file cannot be opened, reading the stream
    raises.
    """
    try:
        return file.open("rb")
    except OSError as error:
        return _unreadable_stream(error)


def _unreadable_stream(error: Exception) -> IO[bytes]:
    return io.BufferedReader(_Unreadable(error))


class _Unreadable(io.RawIOBase):
    """A stream in place of a file that cannot be opened. Reading the stream raises the error of
    opening the file.
    """

    def __init__(self, error: Exception) -> None:
        self.error = error

    def readable(self) -> bool:
        """Return True, so that the stream is read."""
        return True

    def readinto(self, buffer: object) -> int:
        """Raise the error of opening the file."""
        raise self.error


def _files_below(folder: Path) -> Iterator[Input]:
    closed: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=closed.append):
        folders.sort()
        for name in sorted(names):
            file = Path(place, name)
            if not file.is_symlink() and file.is_file():
                yield Input(str(file.relative_to(folder)), _open(file))
    for error in closed:
        yield Input(os.path.relpath(error.filename, folder), _unreadable_stream(error))


def _files_in_archive(archive: Path) -> Iterator[Input]:
    """Yield the files of an archive. For a damaged archive, yield the files before the damage, and
    at last a file that raises the error when it is read.
    """
    found = 0
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                stream = tar.extractfile(member) if member.isfile() else None
                if stream is not None:
                    found += 1
                    yield Input(member.name, stream)
    except DAMAGED as error:
        if not found:
            cause = f"not a readable archive: {error}"
            raise BadRequest(str(archive), cause, _MAKE_TRACE) from error
        yield Input(f"the rest of {archive.name}", _unreadable_stream(error))


def detect_kind(text: IO[str]) -> str:
    """Return the kind of a text by its beginning: ``trace``, ``profile`` or ''. Afterwards the text
    is at its beginning again.
    """
    first = text.read(4096)
    if first.startswith("\t"):  # a payload, because the beginning of the log was cut off
        first = next(iter(_HEADER.findall(first + text.read(_MOST_SEARCHED))), "")
    text.seek(0)
    if _HEADER.match(first.lstrip()):
        return "trace"
    return "profile" if first.lstrip().startswith("{") else ""


def rank_in_name(name: str) -> int | None:
    """Return the rank in a file name that PyTorch chose; None for another name."""
    match = _RANK.fullmatch(name.rpartition("/")[2])
    return int(match["rank"]) if match else None


def no_trace(path: Path) -> BadRequest:
    """Return the error for a path without a trace or a profile."""
    return BadRequest(
        str(path), "has no trace of TORCH_TRACE and no profile of PyTorch", _MAKE_TRACE
    )


@dataclass(frozen=True)
class Profile:
    """The events of a profile. `rank` is the rank of the profiled process; None outside of
    torch.distributed. `unread` counts the entries that are no events.
    """

    name: str
    events: list[dict[str, Any]]
    rank: int | None = None
    unread: int = 0


def read_profile(name: str, text: IO[str]) -> Profile:
    """Return the events of a profile that PyTorch exported. Raises TypeError for other JSON."""
    data = json.load(text)
    entries = data.get("traceEvents") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        raise TypeError("it has no traceEvents")
    events = [each for each in entries if isinstance(each, dict)]
    distributed = data.get("distributedInfo")
    rank = distributed.get("rank") if isinstance(distributed, dict) else None
    known = rank if isinstance(rank, int) and rank >= 0 else None
    return Profile(name, events, known, len(entries) - len(events))
