"""Writing a file that a user named: whole or not at all, and never in place of what is no file."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path


def replace(path: Path, text: str) -> None:
    """`text` in UTF-8 as the content of `path`. OSError where that cannot be; then a former file is
    as it was.

    A file is replaced in one step and keeps its mode. A link stays, and the file that it leads to
    is replaced. A device, a pipe, and the file that stdout is redirected to are written to.
    """
    data, before = text.encode("utf-8", "backslashreplace"), _status(path)
    if before is not None and (_is_stdout(before) or not stat.S_ISREG(before.st_mode)):
        _write_through(path, before, data)
        return
    target = Path(os.path.realpath(path))
    with _beside(target) as new:
        new.write_bytes(data)
        if before is not None:
            with contextlib.suppress(PermissionError):  # another user's file: ours from now on
                os.chown(new, before.st_uid, before.st_gid)
            os.chmod(new, stat.S_IMODE(before.st_mode))
        os.replace(new, target)


def may_be_written(path: Path) -> bool:
    """Whether `replace` is allowed to, in a folder that is there."""
    before = path if path.exists() and not path.is_file() else Path(os.path.realpath(path)).parent
    return os.access(before, os.W_OK)


_FULL = (errno.ENOSPC, errno.EDQUOT)
# OSError: [Errno 28] No space left on device
# /tmp/ccQ8.s: fatal error: error writing to /tmp/ccQ8.s: No space left on device
# No usable temporary directory found in ['/tmp', '/var/tmp', '/usr/tmp', '/home/me']
_WORDS = (*(os.strerror(number) for number in _FULL), "No usable temporary directory")


def is_of_a_full_disk(error: BaseException) -> bool:
    """Whether a disk is full, or the user's part of it, as far as the error says so; or there is
    no folder at all for temporary files.
    """
    return getattr(error, "errno", None) in _FULL or any(words in str(error) for words in _WORDS)


def free_some() -> str:
    """What to do about a full disk."""
    return (
        f"free some space, or name another folder for temporary files than {_temporary()}: TMPDIR=…"
    )


def _temporary() -> str:
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:  # in none of them can anything be written
        return "/tmp"


def _status(path: Path) -> os.stat_result | None:
    """Of what `path` leads to; None where that is not there yet."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _is_stdout(status: os.stat_result) -> bool:
    """Whether what is printed goes there, too: a file in its place would not have that."""
    with contextlib.suppress(OSError):  # a closed one is none
        return os.path.samestat(status, os.fstat(1))
    return False


def _write_through(path: Path, status: os.stat_result, data: bytes) -> None:
    if _is_stdout(status):
        sys.stdout.flush()
        with open(1, "wb", closefd=False) as out:
            out.write(data)
    else:
        path.write_bytes(data)


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A new file in the same folder, gone afterwards unless it was moved."""
    new = path.with_name(f".{path.name[:60]}.{secrets.token_hex(4)}")
    new.open("xb").close()
    try:
        yield new
    finally:
        new.unlink(missing_ok=True)
